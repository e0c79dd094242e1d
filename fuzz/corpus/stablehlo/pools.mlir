module @jit_pools attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<1x8x9x3xf32>) -> (tensor<1x4x4x3xf32> {jax.result_info = "result[0]"}, tensor<1x4x5x3xf32> {jax.result_info = "result[1]"}, tensor<1x4x4x3xf32> {jax.result_info = "result[2]"}, tensor<1x8x9x3xf32> {jax.result_info = "result[3]"}, tensor<1x7x8x3xf32> {jax.result_info = "result[4]"}, tensor<1x3x9x2xf32> {jax.result_info = "result[5]"}, tensor<1x7x8x3xf32> {jax.result_info = "result[6]"}, tensor<1x6x7x3xf32> {jax.result_info = "result[7]"}, tensor<1x4x5x3xi32> {jax.result_info = "result[8]"}, tensor<1x16x10x3xf32> {jax.result_info = "result[9]"}) {
    %cst = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<f32>
    %1 = "stablehlo.reduce_window"(%arg0, %0) <{base_dilations = array<i64: 1, 1, 1, 1>, padding = dense<0> : tensor<4x2xi64>, window_dilations = array<i64: 1, 1, 1, 1>, window_dimensions = array<i64: 1, 2, 2, 1>, window_strides = array<i64: 1, 2, 2, 1>}> ({
    ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
      %29 = stablehlo.maximum %arg1, %arg2 : tensor<f32>
      stablehlo.return %29 : tensor<f32>
    }) : (tensor<1x8x9x3xf32>, tensor<f32>) -> tensor<1x4x4x3xf32>
    %cst_0 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %2 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<f32>
    %3 = "stablehlo.reduce_window"(%arg0, %2) <{base_dilations = array<i64: 1, 1, 1, 1>, padding = dense<[[0, 0], [0, 1], [1, 1], [0, 0]]> : tensor<4x2xi64>, window_dilations = array<i64: 1, 1, 1, 1>, window_dimensions = array<i64: 1, 3, 3, 1>, window_strides = array<i64: 1, 2, 2, 1>}> ({
    ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
      %29 = stablehlo.maximum %arg1, %arg2 : tensor<f32>
      stablehlo.return %29 : tensor<f32>
    }) : (tensor<1x8x9x3xf32>, tensor<f32>) -> tensor<1x4x5x3xf32>
    %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %4 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<f32>
    %5 = "stablehlo.reduce_window"(%arg0, %4) <{base_dilations = array<i64: 1, 1, 1, 1>, padding = dense<0> : tensor<4x2xi64>, window_dilations = array<i64: 1, 1, 1, 1>, window_dimensions = array<i64: 1, 2, 2, 1>, window_strides = array<i64: 1, 2, 2, 1>}> ({
    ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
      %29 = stablehlo.add %arg1, %arg2 : tensor<f32>
      stablehlo.return %29 : tensor<f32>
    }) : (tensor<1x8x9x3xf32>, tensor<f32>) -> tensor<1x4x4x3xf32>
    %cst_2 = stablehlo.constant dense<4.000000e+00> : tensor<f32>
    %6 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<1x4x4x3xf32>
    %7 = stablehlo.divide %5, %6 : tensor<1x4x4x3xf32>
    %cst_3 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %8 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<f32>
    %9 = "stablehlo.reduce_window"(%arg0, %8) <{base_dilations = array<i64: 1, 1, 1, 1>, padding = dense<[[0, 0], [1, 1], [1, 1], [0, 0]]> : tensor<4x2xi64>, window_dilations = array<i64: 1, 1, 1, 1>, window_dimensions = array<i64: 1, 3, 3, 1>, window_strides = array<i64: 1, 1, 1, 1>}> ({
    ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
      %29 = stablehlo.add %arg1, %arg2 : tensor<f32>
      stablehlo.return %29 : tensor<f32>
    }) : (tensor<1x8x9x3xf32>, tensor<f32>) -> tensor<1x8x9x3xf32>
    %cst_4 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %10 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f32>) -> tensor<1x8x9x1xf32>
    %cst_5 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %11 = stablehlo.broadcast_in_dim %cst_5, dims = [] : (tensor<f32>) -> tensor<f32>
    %12 = "stablehlo.reduce_window"(%10, %11) <{base_dilations = array<i64: 1, 1, 1, 1>, padding = dense<[[0, 0], [1, 1], [1, 1], [0, 0]]> : tensor<4x2xi64>, window_dilations = array<i64: 1, 1, 1, 1>, window_dimensions = array<i64: 1, 3, 3, 1>, window_strides = array<i64: 1, 1, 1, 1>}> ({
    ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
      %29 = stablehlo.add %arg1, %arg2 : tensor<f32>
      stablehlo.return %29 : tensor<f32>
    }) : (tensor<1x8x9x1xf32>, tensor<f32>) -> tensor<1x8x9x1xf32>
    %13 = stablehlo.broadcast_in_dim %12, dims = [0, 1, 2, 3] : (tensor<1x8x9x1xf32>) -> tensor<1x8x9x3xf32>
    %14 = stablehlo.divide %9, %13 : tensor<1x8x9x3xf32>
    %cst_6 = stablehlo.constant dense<0x7F800000> : tensor<f32>
    %15 = stablehlo.broadcast_in_dim %cst_6, dims = [] : (tensor<f32>) -> tensor<f32>
    %16 = "stablehlo.reduce_window"(%arg0, %15) <{base_dilations = array<i64: 1, 1, 1, 1>, padding = dense<0> : tensor<4x2xi64>, window_dilations = array<i64: 1, 1, 1, 1>, window_dimensions = array<i64: 1, 2, 2, 1>, window_strides = array<i64: 1, 1, 1, 1>}> ({
    ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
      %29 = stablehlo.minimum %arg1, %arg2 : tensor<f32>
      stablehlo.return %29 : tensor<f32>
    }) : (tensor<1x8x9x3xf32>, tensor<f32>) -> tensor<1x7x8x3xf32>
    %cst_7 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %17 = stablehlo.broadcast_in_dim %cst_7, dims = [] : (tensor<f32>) -> tensor<f32>
    %18 = "stablehlo.reduce_window"(%arg0, %17) <{base_dilations = array<i64: 1, 1, 1, 1>, padding = dense<0> : tensor<4x2xi64>, window_dilations = array<i64: 1, 1, 1, 1>, window_dimensions = array<i64: 1, 3, 1, 2>, window_strides = array<i64: 1, 2, 1, 1>}> ({
    ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
      %29 = stablehlo.add %arg1, %arg2 : tensor<f32>
      stablehlo.return %29 : tensor<f32>
    }) : (tensor<1x8x9x3xf32>, tensor<f32>) -> tensor<1x3x9x2xf32>
    %cst_8 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %19 = "stablehlo.reduce_window"(%arg0, %cst_8) <{base_dilations = array<i64: 1, 1, 1, 1>, padding = dense<0> : tensor<4x2xi64>, window_dilations = array<i64: 1, 1, 1, 1>, window_dimensions = array<i64: 1, 2, 2, 1>, window_strides = array<i64: 1, 1, 1, 1>}> ({
    ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
      %29 = stablehlo.multiply %arg1, %arg2 : tensor<f32>
      stablehlo.return %29 : tensor<f32>
    }) : (tensor<1x8x9x3xf32>, tensor<f32>) -> tensor<1x7x8x3xf32>
    %cst_9 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %20 = stablehlo.broadcast_in_dim %cst_9, dims = [] : (tensor<f32>) -> tensor<f32>
    %21 = "stablehlo.reduce_window"(%arg0, %20) <{base_dilations = array<i64: 1, 1, 1, 1>, padding = dense<0> : tensor<4x2xi64>, window_dilations = array<i64: 1, 2, 2, 1>, window_dimensions = array<i64: 1, 2, 2, 1>, window_strides = array<i64: 1, 1, 1, 1>}> ({
    ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
      %29 = stablehlo.maximum %arg1, %arg2 : tensor<f32>
      stablehlo.return %29 : tensor<f32>
    }) : (tensor<1x8x9x3xf32>, tensor<f32>) -> tensor<1x6x7x3xf32>
    %cst_10 = stablehlo.constant dense<3.000000e+00> : tensor<f32>
    %22 = stablehlo.broadcast_in_dim %cst_10, dims = [] : (tensor<f32>) -> tensor<1x8x9x3xf32>
    %23 = stablehlo.multiply %arg0, %22 : tensor<1x8x9x3xf32>
    %24 = stablehlo.convert %23 : (tensor<1x8x9x3xf32>) -> tensor<1x8x9x3xi32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %25 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<i32>
    %26 = "stablehlo.reduce_window"(%24, %25) <{base_dilations = array<i64: 1, 1, 1, 1>, padding = dense<[[0, 0], [0, 0], [0, 1], [0, 0]]> : tensor<4x2xi64>, window_dilations = array<i64: 1, 1, 1, 1>, window_dimensions = array<i64: 1, 2, 2, 1>, window_strides = array<i64: 1, 2, 2, 1>}> ({
    ^bb0(%arg1: tensor<i32>, %arg2: tensor<i32>):
      %29 = stablehlo.add %arg1, %arg2 : tensor<i32>
      stablehlo.return %29 : tensor<i32>
    }) : (tensor<1x8x9x3xi32>, tensor<i32>) -> tensor<1x4x5x3xi32>
    %cst_11 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %27 = stablehlo.broadcast_in_dim %cst_11, dims = [] : (tensor<f32>) -> tensor<f32>
    %28 = "stablehlo.reduce_window"(%arg0, %27) <{base_dilations = array<i64: 1, 2, 1, 1>, padding = dense<[[0, 0], [1, 1], [1, 1], [0, 0]]> : tensor<4x2xi64>, window_dilations = array<i64: 1, 1, 1, 1>, window_dimensions = array<i64: 1, 2, 2, 1>, window_strides = array<i64: 1, 1, 1, 1>}> ({
    ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
      %29 = stablehlo.add %arg1, %arg2 : tensor<f32>
      stablehlo.return %29 : tensor<f32>
    }) : (tensor<1x8x9x3xf32>, tensor<f32>) -> tensor<1x16x10x3xf32>
    return %1, %3, %7, %14, %16, %18, %19, %21, %26, %28 : tensor<1x4x4x3xf32>, tensor<1x4x5x3xf32>, tensor<1x4x4x3xf32>, tensor<1x8x9x3xf32>, tensor<1x7x8x3xf32>, tensor<1x3x9x2xf32>, tensor<1x7x8x3xf32>, tensor<1x6x7x3xf32>, tensor<1x4x5x3xi32>, tensor<1x16x10x3xf32>
  }
}

module @jit_products attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<4x5xf32>, %arg1: tensor<5x6xf32>, %arg2: tensor<2x3x2x4xf32>, %arg3: tensor<2x3x2x4xf32>, %arg4: tensor<5xf32>) -> (tensor<4x6xf32> {jax.result_info = "result[0]"}, tensor<4xf32> {jax.result_info = "result[1]"}, tensor<6xf32> {jax.result_info = "result[2]"}, tensor<f32> {jax.result_info = "result[3]"}, tensor<2x2x3x3xf32> {jax.result_info = "result[4]"}, tensor<2x3x2x4xf32> {jax.result_info = "result[5]"}, tensor<2x3x3xf32> {jax.result_info = "result[6]"}, tensor<4x2x3xf32> {jax.result_info = "result[7]"}, tensor<4x4xf32> {jax.result_info = "result[8]"}, tensor<5x5xf32> {jax.result_info = "result[9]"}, tensor<2xf32> {jax.result_info = "result[10]"}, tensor<2x4x2x4xf32> {jax.result_info = "result[11]"}, tensor<4x6xf32> {jax.result_info = "result[12]"}, tensor<4x6xi32> {jax.result_info = "result[13]"}, tensor<5x5xf32> {jax.result_info = "result[14]"}, tensor<3x2xf32> {jax.result_info = "result[15]"}) {
    %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<4x5xf32>, tensor<5x6xf32>) -> tensor<4x6xf32>
    %1 = stablehlo.dot_general %arg0, %arg4, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<4x5xf32>, tensor<5xf32>) -> tensor<4xf32>
    %2 = stablehlo.dot_general %arg4, %arg1, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<5xf32>, tensor<5x6xf32>) -> tensor<6xf32>
    %3 = stablehlo.dot_general %arg4, %arg4, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<5xf32>, tensor<5xf32>) -> tensor<f32>
    %4 = stablehlo.dot_general %arg2, %arg3, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3], precision = [DEFAULT, DEFAULT] : (tensor<2x3x2x4xf32>, tensor<2x3x2x4xf32>) -> tensor<2x2x3x3xf32>
    %5 = stablehlo.dot_general %arg2, %arg3, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3], precision = [DEFAULT, DEFAULT] : (tensor<2x3x2x4xf32>, tensor<2x3x2x4xf32>) -> tensor<2x2x3x3xf32>
    %6 = stablehlo.dot_general %arg3, %5, batching_dims = [0, 2] x [0, 1], contracting_dims = [1] x [3], precision = [DEFAULT, DEFAULT] : (tensor<2x3x2x4xf32>, tensor<2x2x3x3xf32>) -> tensor<2x2x4x3xf32>
    %7 = stablehlo.transpose %6, dims = [0, 3, 1, 2] : (tensor<2x2x4x3xf32>) -> tensor<2x3x2x4xf32>
    %8 = stablehlo.slice %arg3 [0:1, 0:3, 0:2, 0:4] : (tensor<2x3x2x4xf32>) -> tensor<1x3x2x4xf32>
    %9 = stablehlo.reshape %8 : (tensor<1x3x2x4xf32>) -> tensor<3x2x4xf32>
    %10 = stablehlo.transpose %9, dims = [1, 2, 0] : (tensor<3x2x4xf32>) -> tensor<2x4x3xf32>
    %11 = stablehlo.dot_general %arg2, %10, contracting_dims = [3, 2] x [1, 0], precision = [DEFAULT, DEFAULT] : (tensor<2x3x2x4xf32>, tensor<2x4x3xf32>) -> tensor<2x3x3xf32>
    %12 = stablehlo.reshape %arg1 : (tensor<5x6xf32>) -> tensor<5x2x3xf32>
    %13 = stablehlo.dot_general %arg0, %12, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<4x5xf32>, tensor<5x2x3xf32>) -> tensor<4x2x3xf32>
    %14 = stablehlo.dot_general %arg0, %arg0, contracting_dims = [1] x [1], precision = [DEFAULT, DEFAULT] : (tensor<4x5xf32>, tensor<4x5xf32>) -> tensor<4x4xf32>
    %15 = stablehlo.dot_general %arg4, %arg4, contracting_dims = [] x [], precision = [DEFAULT, DEFAULT] : (tensor<5xf32>, tensor<5xf32>) -> tensor<5x5xf32>
    %16 = stablehlo.slice %arg3 [0:2, 0:3, 0:2, 0:1] : (tensor<2x3x2x4xf32>) -> tensor<2x3x2x1xf32>
    %17 = stablehlo.reshape %16 : (tensor<2x3x2x1xf32>) -> tensor<2x3x2xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %18 = stablehlo.reduce(%17 init: %cst) applies stablehlo.add across dimensions = [1, 2] : (tensor<2x3x2xf32>, tensor<f32>) -> tensor<2xf32>
    %19 = stablehlo.dot_general %arg2, %arg3, contracting_dims = [1, 2] x [1, 2], precision = [DEFAULT, DEFAULT] : (tensor<2x3x2x4xf32>, tensor<2x3x2x4xf32>) -> tensor<2x4x2x4xf32>
    %20 = stablehlo.convert %arg0 : (tensor<4x5xf32>) -> tensor<4x5xbf16>
    %21 = stablehlo.convert %arg1 : (tensor<5x6xf32>) -> tenor<5x6xbf16>
    %22 = stablehlo.dot_general %20, %21, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<4x5xbf16>, tensor<5x6xbf16>) -> tensor<4x6xf32>
    %23 = stablehlo.convert %arg0 : (tensor<4x5xf32>) -> tensor<4x5xi8>
    %24 = stablehlo.convert %arg1 : (tensor<5x6xf32>) -> tensor<5x6xi8>
    %25 = stablehlo.dot_general %23, %24, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<4x5xi8>, tensor<5x6xi8>) -> tensor<4x6xi32>
    %26 = stablehlo.broadcast_in_dim %arg4, dims = [0] : (tensor<5xf32>) -> tensor<5x4xf32>
    %27 = stablehlo.broadcast_in_dim %arg4, dims = [1] : (tensor<5xf32>) -> tensor<1x5xf32>
    %28 = stablehlo.broadcast_in_dim %26, dims = [0, 1] : (tensor<5x1xf32>) -> tensor<5x5xf32>
    %29 = stablehlo.broadcast_in_dim %27, dims = [0, 1] : (tensor<1x5xf32>) -> tensor<5x5xf32>
    %30 = stablehlo.multiply %28, %29 : tensor<5x5xf32>
    %31 = stablehlo.slice %arg2 [0:1, 0:3, 0:2, 0:4] : (tensor<2x3x2x4xf32>) -> tensor<1x3x2x4xf32>
    %32 = stablehlo.reshape %31 : (tensor<1x3x2x4xf32>) -> tensor<3x2x4xf32>
    %33 = stablehlo.slice %arg3 [0:1, 0:3, 0:2, 0:4] : (tensor<2x3x2x4xf32>) -> tensor<1x3x2x4xf32>
    %34 = stablehlo.reshape %33 : (tensor<1x3x2x4xf32>) -> tensor<3x2x4xf32>
    %35 = stablehlo.dot_general %32, %34, batching_dims = [0, 1] x [0, 1], contracting_dims = [2] x [2], precision = [DEFAULT, DEFAULT] : (tensor<3x2x4xf32>, tensor<3x2x4xf32>) -> tensor<3x2xf32>
    return %0, %1, %2, %3, %4, %7, %11, %13, %14, %15, %18, %19, %22, %25, %30, %35 : tensor<4x6xf32>, tensor<4xf32>, tensor<6xf32>, tensor<f32>, tensor<2x2x3x3xf32>, tensor<2x3x2x4xf32>, tensor<2x3x3xf32>, tensor<4x2x3xf32>, tensor<4x4xf32>, tensor<5x5xf32>, tensor<2xf32>, tensor<2x4x2x4xf32>, tensor<4x6xf32>, tensor<4x6xi32>, tensor<5x5xf32>, tensor<3x2xf32>
  }
}

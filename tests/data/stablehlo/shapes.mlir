module @jit_shapes attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<6x4xf32>, %arg1: tensor<6x4xf32>) -> (tensor<4x6xf32> {jax.result_info = "result[0]"}, tensor<4x6xf32> {jax.result_info = "result[1]"}, tensor<3x4xf32> {jax.result_info = "result[2]"}, tensor<1x6x1x4xf32> {jax.result_info = "result[3]"}, tensor<2x4xf32> {jax.result_info = "result[4]"}, tensor<6x8xf32> {jax.result_info = "result[5]"}, tensor<2x2x4xf32> {jax.result_info = "result[6]"}, tensor<9x7xf32> {jax.result_info = "result[7]"}, tensor<17x8xf32> {jax.result_info = "result[8]"}, tensor<6x4xf32> {jax.result_info = "result[9]"}, tensor<3x4xf32> {jax.result_info = "result[10]"}, tensor<5xi32> {jax.result_info = "result[11]"}, tensor<3x4xi32> {jax.result_info = "result[12]"}, tensor<6x8xf32> {jax.result_info = "result[13]"}, tensor<6x4xf32> {jax.result_info = "result[14]"}, tensor<4x2x6xf32> {jax.result_info = "result[15]"}, tensor<3x3xf32> {jax.result_info = "result[16]"}, tensor<6x4xf32> {jax.result_info = "result[17]"}, tensor<2x3xf32> {jax.result_info = "result[18]"}, tensor<6x8xf32> {jax.result_info = "result[19]"}, tensor<2x2xi32> {jax.result_info = "result[20]"}, tensor<6x4xf32> {jax.result_info = "result[21]"}, tensor<4xf32> {jax.result_info = "result[22]"}, tensor<f32> {jax.result_info = "result[23]"}, tensor<4x4xf32> {jax.result_info = "result[24][0]"}, tensor<4x4xf32> {jax.result_info = "result[24][1]"}, tensor<3x4xf32> {jax.result_info = "result[25][0]"}, tensor<3x4xf32> {jax.result_info = "result[25][1]"}) {
    %0 = stablehlo.reshape %arg0 : (tensor<6x4xf32>) -> tensor<4x6xf32>
    %1 = stablehlo.transpose %arg0, dims = [1, 0] : (tensor<6x4xf32>) -> tensor<4x6xf32>
    %2 = stablehlo.slice %arg0 [0:1, 0:4] : (tensor<6x4xf32>) -> tensor<1x4xf32>
    %3 = stablehlo.reshape %2 : (tensor<1x4xf32>) -> tensor<4xf32>
    %4 = stablehlo.broadcast_in_dim %3, dims = [1] : (tensor<4xf32>) -> tensor<3x4xf32>
    %5 = stablehlo.broadcast_in_dim %arg0, dims = [1, 3] : (tensor<6x4xf32>) -> tensor<1x6x1x4xf32>
    %6 = stablehlo.slice %arg0 [1:5:2, 0:4] : (tensor<6x4xf32>) -> tensor<2x4xf32>
    %7 = stablehlo.reverse %6, dims = [1] : tensor<2x4xf32>
    %8 = stablehlo.concatenate %arg0, %arg1, dim = 1 : (tensor<6x4xf32>, tensor<6x4xf32>) -> tensor<6x8xf32>
    %9 = stablehlo.slice %arg0 [0:2, 0:4] : (tensor<6x4xf32>) -> tensor<2x4xf32>
    %10 = stablehlo.slice %arg0 [2:4, 0:4] : (tensor<6x4xf32>) -> tensor<2x4xf32>
    %11 = stablehlo.broadcast_in_dim %9, dims = [1, 2] : (tensor<2x4xf32>) -> tensor<1x2x4xf32>
    %12 = stablehlo.broadcast_in_dim %10, dims = [1, 2] : (tensor<2x4xf32>) -> tensor<1x2x4xf32>
    %13 = stablehlo.concatenate %11, %12, dim = 0 : (tensor<1x2x4xf32>, tensor<1x2x4xf32>) -> tensor<2x2x4xf32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %14 = call @_pad(%arg0, %c) : (tensor<6x4xf32>, tensor<i32>) -> tensor<9x7xf32>
    %cst = stablehlo.constant dense<7.000000e+00> : tensor<f32>
    %15 = stablehlo.pad %arg0, %cst, low = [1, -1], high = [0, 2], interior = [2, 1] : (tensor<6x4xf32>, tensor<f32>) -> tensor<17x8xf32>
    %16 = call @_flip(%arg0) : (tensor<6x4xf32>) -> tensor<6x4xf32>
    %17 = stablehlo.iota dim = 0 : tensor<12xf32>
    %18 = stablehlo.reshape %17 : (tensor<12xf32>) -> tensor<3x4xf32>
    %19 = stablehlo.iota dim = 0 : tensor<5xi32>
    %20 = stablehlo.iota dim = 1 : tensor<3x4xi32>
    %21 = stablehlo.reshape %arg0 : (tensor<6x4xf32>) -> tensor<1x6x1x4xf32>
    %22 = stablehlo.broadcast_in_dim %21, dims = [0, 1, 2, 3] : (tensor<1x6x1x4xf32>) -> tensor<1x6x2x4xf32>
    %23 = stablehlo.reshape %22 : (tensor<1x6x2x4xf32>) -> tensor<6x8xf32>
    %24 = call @_roll_static(%arg0) : (tensor<6x4xf32>) -> tensor<6x4xf32>
    %25 = stablehlo.broadcast_in_dim %arg0, dims = [2, 0] : (tensor<6x4xf32>) -> tensor<4x2x6xf32>
    %26 = stablehlo.iota dim = 0 : tensor<3x3xi32>
    %27 = stablehlo.iota dim = 1 : tensor<3x3xi32>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %28 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i32>) -> tensor<3x3xi32>
    %29 = stablehlo.add %26, %28 : tensor<3x3xi32>
    %30 = stablehlo.compare EQ, %29, %27, SIGNED : (tensor<3x3xi32>, tensor<3x3xi32>) -> tensor<3x3xi1>
    %31 = stablehlo.convert %30 : (tensor<3x3xi1>) -> tensor<3x3xf32>
    %32 = call @tril(%arg0) : (tensor<6x4xf32>) -> tensor<6x4xf32>
    %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %33 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<2x3xf32>
    %34 = stablehlo.broadcast_in_dim %arg0, dims = [0, 1] : (tensor<6x4xf32>) -> tensor<6x4x2xf32>
    %35 = stablehlo.reshape %34 : (tensor<6x4x2xf32>) -> tensor<6x8xf32>
    %c_2 = stablehlo.constant dense<3> : tensor<i32>
    %36 = stablehlo.broadcast_in_dim %c_2, dims = [] : (tensor<i32>) -> tensor<2x2xi32>
    %37 = stablehlo.broadcast_in_dim %arg0, dims = [0, 1] : (tensor<6x4xf32>) -> tensor<6x4x1xf32>
    %38 = stablehlo.reshape %37 : (tensor<6x4x1xf32>) -> tensor<6x4xf32>
    %39 = stablehlo.slice %arg0 [0:4, 0:4] : (tensor<6x4xf32>) -> tensor<4x4xf32>
    %40 = call @diagonal(%39) : (tensor<4x4xf32>) -> tensor<4xf32>
    %41 = stablehlo.slice %arg0 [0:4, 0:4] : (tensor<6x4xf32>) -> tensor<4x4xf32>
    %42 = call @trace(%41) : (tensor<4x4xf32>) -> tensor<f32>
    %43 = stablehlo.slice %arg0 [0:1, 0:4] : (tensor<6x4xf32>) -> tensor<1x4xf32>
    %44 = stablehlo.reshape %43 : (tensor<1x4xf32>) -> tensor<4xf32>
    %45 = stablehlo.slice %arg1 [1:2, 0:4] : (tensor<6x4xf32>) -> tensor<1x4xf32>
    %46 = stablehlo.reshape %45 : (tensor<1x4xf32>) -> tensor<4xf32>
    %47 = stablehlo.broadcast_in_dim %46, dims = [0] : (tensor<4xf32>) -> tensor<4x4xf32>
    %48 = stablehlo.broadcast_in_dim %44, dims = [1] : (tensor<4xf32>) -> tensor<4x4xf32>
    %49 = stablehlo.slice %arg0 [0:3, 0:4] : (tensor<6x4xf32>) -> tensor<3x4xf32>
    %50 = stablehlo.slice %arg0 [3:6, 0:4] : (tensor<6x4xf32>) -> tensor<3x4xf32>
    return %0, %1, %4, %5, %7, %8, %13, %14, %15, %16, %18, %19, %20, %23, %24, %25, %31, %32, %33, %35, %36, %38, %40, %42, %48, %47, %49, %50 : tensor<4x6xf32>, tensor<4x6xf32>, tensor<3x4xf32>, tensor<1x6x1x4xf32>, tensor<2x4xf32>, tensor<6x8xf32>, tensor<2x2x4xf32>, tensor<9x7xf32>, tensor<17x8xf32>, tensor<6x4xf32>, tensor<3x4xf32>, tensor<5xi32>, tensor<3x4xi32>, tensor<6x8xf32>, tensor<6x4xf32>, tensor<4x2x6xf32>, tensor<3x3xf32>, tensor<6x4xf32>, tensor<2x3xf32>, tensor<6x8xf32>, tensor<2x2xi32>, tensor<6x4xf32>, tensor<4xf32>, tensor<f32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>
  }
  func.func private @_pad(%arg0: tensor<6x4xf32>, %arg1: tensor<i32>) -> tensor<9x7xf32> {
    %0 = stablehlo.convert %arg1 : (tensor<i32>) -> tensor<f32>
    %1 = stablehlo.pad %arg0, %0, low = [1, 0], high = [2, 3], interior = [0, 0] : (tensor<6x4xf32>, tensor<f32>) -> tensor<9x7xf32>
    return %1 : tensor<9x7xf32>
  }
  func.func private @_flip(%arg0: tensor<6x4xf32>) -> tensor<6x4xf32> {
    %0 = stablehlo.reverse %arg0, dims = [0] : tensor<6x4xf32>
    return %0 : tensor<6x4xf32>
  }
  func.func private @_roll_static(%arg0: tensor<6x4xf32>) -> tensor<6x4xf32> {
    %0 = stablehlo.slice %arg0 [5:6, 0:4] : (tensor<6x4xf32>) -> tensor<1x4xf32>
    %1 = stablehlo.slice %arg0 [0:5, 0:4] : (tensor<6x4xf32>) -> tensor<5x4xf32>
    %2 = stablehlo.concatenate %0, %1, dim = 0 : (tensor<1x4xf32>, tensor<5x4xf32>) -> tensor<6x4xf32>
    return %2 : tensor<6x4xf32>
  }
  func.func private @tril(%arg0: tensor<6x4xf32>) -> tensor<6x4xf32> {
    %0 = stablehlo.iota dim = 0 : tensor<6x4xi32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %1 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<6x4xi32>
    %2 = stablehlo.add %0, %1 : tensor<6x4xi32>
    %3 = stablehlo.iota dim = 1 : tensor<6x4xi32>
    %4 = stablehlo.compare GE, %2, %3, SIGNED : (tensor<6x4xi32>, tensor<6x4xi32>) -> tensor<6x4xi1>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %5 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<6x4xf32>
    %6 = stablehlo.select %4, %arg0, %5 : tensor<6x4xi1>, tensor<6x4xf32>
    return %6 : tensor<6x4xf32>
  }
  func.func private @diagonal(%arg0: tensor<4x4xf32>) -> tensor<4xf32> {
    %0 = stablehlo.iota dim = 0 : tensor<4x4xi32>
    %1 = stablehlo.iota dim = 1 : tensor<4x4xi32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %2 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<4x4xi32>
    %3 = stablehlo.add %0, %2 : tensor<4x4xi32>
    %4 = stablehlo.compare EQ, %3, %1, SIGNED : (tensor<4x4xi32>, tensor<4x4xi32>) -> tensor<4x4xi1>
    %5 = stablehlo.convert %4 : (tensor<4x4xi1>) -> tensor<4x4xf32>
    %c_0 = stablehlo.constant dense<1> : tensor<i32>
    %6 = "stablehlo.case"(%c_0) ({
      %c_1 = stablehlo.constant dense<0> : tensor<i32>
      stablehlo.return %c_1 : tensor<i32>
    }, {
      %c_1 = stablehlo.constant dense<0> : tensor<i32>
      stablehlo.return %c_1 : tensor<i32>
    }) : (tensor<i32>) -> tensor<i32>
    %7 = "stablehlo.case"(%6) ({
      %8 = stablehlo.iota dim = 0 : tensor<4xi32>
      %9 = stablehlo.iota dim = 0 : tensor<4xi32>
      %c_1 = stablehlo.constant dense<0> : tensor<i32>
      %10 = stablehlo.broadcast_in_dim %c_1, dims = [] : (tensor<i32>) -> tensor<4xi32>
      %11 = stablehlo.compare LT, %8, %10, SIGNED : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
      %c_2 = stablehlo.constant dense<4> : tensor<i32>
      %12 = stablehlo.broadcast_in_dim %c_2, dims = [] : (tensor<i32>) -> tensor<4xi32>
      %13 = stablehlo.add %8, %12 : tensor<4xi32>
      %14 = stablehlo.select %11, %13, %8 : tensor<4xi1>, tensor<4xi32>
      %c_3 = stablehlo.constant dense<0> : tensor<i32>
      %15 = stablehlo.broadcast_in_dim %c_3, dims = [] : (tensor<i32>) -> tensor<4xi32>
      %16 = stablehlo.compare LT, %9, %15, SIGNED : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
      %c_4 = stablehlo.constant dense<4> : tensor<i32>
      %17 = stablehlo.broadcast_in_dim %c_4, dims = [] : (tensor<i32>) -> tensor<4xi32>
      %18 = stablehlo.add %9, %17 : tensor<4xi32>
      %19 = stablehlo.select %16, %18, %9 : tensor<4xi1>, tensor<4xi32>
      %20 = stablehlo.broadcast_in_dim %14, dims = [0] : (tensor<4xi32>) -> tensor<4x1xi32>
      %21 = stablehlo.broadcast_in_dim %19, dims = [0] : (tensor<4xi32>) -> tensor<4x1xi32>
      %22 = stablehlo.concatenate %20, %21, dim = 1 : (tensor<4x1xi32>, tensor<4x1xi32>) -> tensor<4x2xi32>
      %23 = "stablehlo.gather"(%arg0, %22) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 1>}> : (tensor<4x4xf32>, tensor<4x2xi32>) -> tensor<4xf32>
      stablehlo.return %23 : tensor<4xf32>
    }) : (tensor<i32>) -> tensor<4xf32>
    return %7 : tensor<4xf32>
  }
  func.func private @trace(%arg0: tensor<4x4xf32>) -> tensor<f32> {
    %0 = stablehlo.iota dim = 0 : tensor<4x4xi32>
    %1 = stablehlo.iota dim = 1 : tensor<4x4xi32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %2 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<4x4xi32>
    %3 = stablehlo.add %0, %2 : tensor<4x4xi32>
    %4 = stablehlo.compare EQ, %3, %1, SIGNED : (tensor<4x4xi32>, tensor<4x4xi32>) -> tensor<4x4xi1>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %5 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<4x4xf32>
    %6 = call @_where(%4, %arg0, %5) : (tensor<4x4xi1>, tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %7 = stablehlo.reduce(%6 init: %cst_0) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x4xf32>, tensor<f32>) -> tensor<f32>
    return %7 : tensor<f32>
  }
  func.func private @_where(%arg0: tensor<4x4xi1>, %arg1: tensor<4x4xf32>, %arg2: tensor<4x4xf32>) -> tensor<4x4xf32> {
    %0 = stablehlo.select %arg0, %arg1, %arg2 : tensor<4x4xi1>, tensor<4x4xf32>
    return %0 : tensor<4x4xf32>
  }
}

module @jit_integers attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<3x4xi32>, %arg1: tensor<3x4xi32>, %arg2: tensor<5xui32>) -> (tensor<3x4xi32> {jax.result_info = "result[0]"}, tensor<3x4xi32> {jax.result_info = "result[1]"}, tensor<3x4xi32> {jax.result_info = "result[2]"}, tensor<3x4xi32> {jax.result_info = "result[3]"}, tensor<3x4xi32> {jax.result_info = "result[4]"}, tensor<3x4xi32> {jax.result_info = "result[5]"}, tensor<3x4xi32> {jax.result_info = "result[6]"}, tensor<3x4xi32> {jax.result_info = "result[7]"}, tensor<3x4xi32> {jax.result_info = "result[8]"}, tensor<3x4xi32> {jax.result_info = "result[9]"}, tensor<3x4xi32> {jax.result_info = "result[10]"}, tensor<3x4xi32> {jax.result_info = "result[11]"}, tensor<3x4xi32> {jax.result_info = "result[12]"}, tensor<3x4xi32> {jax.result_info = "result[13]"}, tensor<5xui32> {jax.result_info = "result[14]"}, tensor<5xui32> {jax.result_info = "result[15]"}, tensor<5xui32> {jax.result_info = "result[16]"}, tensor<3x4xi1> {jax.result_info = "result[17]"}, tensor<3x4xi1> {jax.result_info = "result[18]"}, tensor<3x4xi1> {jax.result_info = "result[19]"}, tensor<3x4xi1> {jax.result_info = "result[20]"}, tensor<3x4xi32> {jax.result_info = "result[21]"}, tensor<3x4xi32> {jax.result_info = "result[22]"}, tensor<3x4xi32> {jax.result_info = "result[23]"}, tensor<3x4xi32> {jax.result_info = "result[24]"}, tensor<3x4xf32> {jax.result_info = "result[25]"}, tensor<3x4xi32> {jax.result_info = "result[26]"}, tensor<3x4xi32> {jax.result_info = "result[27]"}, tensor<3x4xi32> {jax.result_info = "result[28]"}, tensor<i32> {jax.result_info = "result[29]"}, tensor<3xi32> {jax.result_info = "result[30]"}, tensor<i32> {jax.result_info = "result[31]"}, tensor<4xi1> {jax.result_info = "result[32]"}, tensor<3xi1> {jax.result_info = "result[33]"}, tensor<3x4xi32> {jax.result_info = "result[34]"}) {
    %0 = stablehlo.compare GT, %arg0, %arg1, SIGNED : (tensor<3x4xi32>, tensor<3x4xi32>) -> tensor<3x4xi1>
    %c = stablehlo.constant dense<3> : tensor<i32>
    %1 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<3x4xi32>
    %2 = stablehlo.compare GT, %arg0, %1, SIGNED : (tensor<3x4xi32>, tensor<3x4xi32>) -> tensor<3x4xi1>
    %3 = stablehlo.add %arg0, %arg1 : tensor<3x4xi32>
    %4 = stablehlo.subtract %arg0, %arg1 : tensor<3x4xi32>
    %5 = stablehlo.multiply %arg0, %arg1 : tensor<3x4xi32>
    %6 = stablehlo.divide %arg0, %arg1 : tensor<3x4xi32>
    %7 = stablehlo.remainder %arg0, %arg1 : tensor<3x4xi32>
    %8 = call @floor_divide(%arg0, %arg1) : (tensor<3x4xi32>, tensor<3x4xi32>) -> tensor<3x4xi32>
    %9 = call @remainder(%arg0, %arg1) : (tensor<3x4xi32>, tensor<3x4xi32>) -> tensor<3x4xi32>
    %10 = stablehlo.and %arg0, %arg1 : tensor<3x4xi32>
    %11 = stablehlo.or %arg0, %arg1 : tensor<3x4xi32>
    %12 = stablehlo.xor %arg0, %arg1 : tensor<3x4xi32>
    %13 = stablehlo.not %arg0 : tensor<3x4xi32>
    %c_0 = stablehlo.constant dense<2> : tensor<i32>
    %14 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i32>) -> tensor<3x4xi32>
    %15 = stablehlo.shift_left %arg0, %14 : tensor<3x4xi32>
    %c_1 = stablehlo.constant dense<1> : tensor<i32>
    %16 = stablehlo.broadcast_in_dim %c_1, dims = [] : (tensor<i32>) -> tensor<3x4xi32>
    %17 = stablehlo.shift_right_arithmetic %arg0, %16 : tensor<3x4xi32>
    %c_2 = stablehlo.constant dense<20> : tensor<i32>
    %18 = stablehlo.broadcast_in_dim %c_2, dims = [] : (tensor<i32>) -> tensor<3x4xi32>
    %19 = stablehlo.subtract %arg0, %18 : tensor<3x4xi32>
    %c_3 = stablehlo.constant dense<3> : tensor<i32>
    %20 = stablehlo.broadcast_in_dim %c_3, dims = [] : (tensor<i32>) -> tensor<3x4xi32>
    %21 = stablehlo.shift_right_logical %19, %20 : tensor<3x4xi32>
    %c_4 = stablehlo.constant dense<3> : tensor<ui32>
    %22 = stablehlo.broadcast_in_dim %c_4, dims = [] : (tensor<ui32>) -> tensor<5xui32>
    %23 = stablehlo.shift_right_logical %arg2, %22 : tensor<5xui32>
    %c_5 = stablehlo.constant dense<5> : tensor<ui32>
    %24 = stablehlo.broadcast_in_dim %c_5, dims = [] : (tensor<ui32>) -> tensor<5xui32>
    %25 = stablehlo.shift_left %arg2, %24 : tensor<5xui32>
    %26 = stablehlo.multiply %arg2, %arg2 : tensor<5xui32>
    %27 = stablehlo.and %0, %2 : tensor<3x4xi1>
    %28 = stablehlo.or %0, %2 : tensor<3x4xi1>
    %29 = stablehlo.xor %0, %2 : tensor<3x4xi1>
    %30 = stablehlo.not %0 : tensor<3x4xi1>
    %31 = stablehlo.maximum %arg0, %arg1 : tensor<3x4xi32>
    %32 = stablehlo.negate %arg0 : tensor<3x4xi32>
    %c_6 = stablehlo.constant dense<8> : tensor<i32>
    %33 = stablehlo.broadcast_in_dim %c_6, dims = [] : (tensor<i32>) -> tensor<3x4xi32>
    %34 = stablehlo.subtract %arg0, %33 : tensor<3x4xi32>
    %35 = stablehlo.abs %34 : tensor<3x4xi32>
    %c_7 = stablehlo.constant dense<5> : tensor<i32>
    %36 = stablehlo.broadcast_in_dim %c_7, dims = [] : (tensor<i32>) -> tensor<3x4xi32>
    %37 = stablehlo.subtract %arg0, %36 : tensor<3x4xi32>
    %38 = stablehlo.sign %37 : tensor<3x4xi32>
    %39 = stablehlo.convert %arg0 : (tensor<3x4xi32>) -> tensor<3x4xf32>
    %40 = stablehlo.convert %0 : (tensor<3x4xi1>) -> tensor<3x4xi32>
    %41 = call @_where(%0, %arg0, %arg1) : (tensor<3x4xi1>, tensor<3x4xi32>, tensor<3x4xi32>) -> tensor<3x4xi32>
    %42 = stablehlo.maximum %arg0, %arg1 : tensor<3x4xi32>
    %c_8 = stablehlo.constant dense<0> : tensor<i32>
    %43 = stablehlo.reduce(%arg0 init: %c_8) applies stablehlo.add across dimensions = [0, 1] : (tensor<3x4xi32>, tensor<i32>) -> tensor<i32>
    %c_9 = stablehlo.constant dense<-2147483648> : tensor<i32>
    %44 = stablehlo.reduce(%arg0 init: %c_9) applies stablehlo.maximum across dimensions = [1] : (tensor<3x4xi32>, tensor<i32>) -> tensor<3xi32>
    %45 = stablehlo.slice %arg0 [0:2, 0:2] : (tensor<3x4xi32>) -> tensor<2x2xi32>
    %c_10 = stablehlo.constant dense<1> : tensor<i32>
    %46 = stablehlo.reduce(%45 init: %c_10) applies stablehlo.multiply across dimensions = [0, 1] : (tensor<2x2xi32>, tensor<i32>) -> tensor<i32>
    %c_11 = stablehlo.constant dense<false> : tensor<i1>
    %47 = stablehlo.reduce(%0 init: %c_11) applies stablehlo.or across dimensions = [0] : (tensor<3x4xi1>, tensor<i1>) -> tensor<4xi1>
    %c_12 = stablehlo.constant dense<true> : tensor<i1>
    %48 = stablehlo.reduce(%2 init: %c_12) applies stablehlo.and across dimensions = [1] : (tensor<3x4xi1>, tensor<i1>) -> tensor<3xi1>
    %49 = call @cumsum(%arg0) : (tensor<3x4xi32>) -> tensor<3x4xi32>
    return %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %15, %17, %21, %23, %25, %26, %27, %28, %29, %30, %31, %32, %35, %38, %39, %40, %41, %42, %43, %44, %46, %47, %48, %49 : tensor<3x4xi32>, tensor<3x4xi32>, tensor<3x4xi32>, tensor<3x4xi32>, tensor<3x4xi32>, tensor<3x4xi32>, tensor<3x4xi32>, tensor<3x4xi32>, tensor<3x4xi32>, tensor<3x4xi32>, tensor<3x4xi32>, tensor<3x4xi32>, tensor<3x4xi32>, tensor<3x4xi32>, tensor<5xui32>, tensor<5xui32>, tensor<5xui32>, tensor<3x4xi1>, tensor<3x4xi1>, tensor<3x4xi1>, tensor<3x4xi1>, tensor<3x4xi32>, tensor<3x4xi32>, tensor<3x4xi32>, tensor<3x4xi32>, tensor<3x4xf32>, tensor<3x4xi32>, tensor<3x4xi32>, tensor<3x4xi32>, tensor<i32>, tensor<3xi32>, tensor<i32>, tensor<4xi1>, tensor<3xi1>, tensor<3x4xi32>
  }
  func.func private @floor_divide(%arg0: tensor<3x4xi32>, %arg1: tensor<3x4xi32>) -> tensor<3x4xi32> {
    %0 = stablehlo.divide %arg0, %arg1 : tensor<3x4xi32>
    %1 = stablehlo.sign %arg0 : tensor<3x4xi32>
    %2 = stablehlo.sign %arg1 : tensor<3x4xi32>
    %3 = stablehlo.compare NE, %1, %2, SIGNED : (tensor<3x4xi32>, tensor<3x4xi32>) -> tensor<3x4xi1>
    %4 = stablehlo.remainder %arg0, %arg1 : tensor<3x4xi32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %5 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<3x4xi32>
    %6 = stablehlo.compare NE, %4, %5, SIGNED : (tensor<3x4xi32>, tensor<3x4xi32>) -> tensor<3x4xi1>
    %7 = stablehlo.and %3, %6 : tensor<3x4xi1>
    %c_0 = stablehlo.constant dense<1> : tensor<i32>
    %8 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i32>) -> tensor<3x4xi32>
    %9 = stablehlo.subtract %0, %8 : tensor<3x4xi32>
    %10 = call @_where(%7, %9, %0) : (tensor<3x4xi1>, tensor<3x4xi32>, tensor<3x4xi32>) -> tensor<3x4xi32>
    return %10 : tensor<3x4xi32>
  }
  func.func private @_where(%arg0: tensor<3x4xi1>, %arg1: tensor<3x4xi32>, %arg2: tensor<3x4xi32>) -> tensor<3x4xi32> {
    %0 = stablehlo.select %arg0, %arg1, %arg2 : tensor<3x4xi1>, tensor<3x4xi32>
    return %0 : tensor<3x4xi32>
  }
  func.func private @remainder(%arg0: tensor<3x4xi32>, %arg1: tensor<3x4xi32>) -> tensor<3x4xi32> {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<3x4xi32>
    %1 = stablehlo.compare EQ, %arg1, %0, SIGNED : (tensor<3x4xi32>, tensor<3x4xi32>) -> tensor<3x4xi1>
    %c_0 = stablehlo.constant dense<1> : tensor<i32>
    %2 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i32>) -> tensor<3x4xi32>
    %3 = call @_where(%1, %2, %arg1) : (tensor<3x4xi1>, tensor<3x4xi32>, tensor<3x4xi32>) -> tensor<3x4xi32>
    %4 = stablehlo.remainder %arg0, %3 : tensor<3x4xi32>
    %c_1 = stablehlo.constant dense<0> : tensor<i32>
    %5 = stablehlo.broadcast_in_dim %c_1, dims = [] : (tensor<i32>) -> tensor<3x4xi32>
    %6 = stablehlo.compare NE, %4, %5, SIGNED : (tensor<3x4xi32>, tensor<3x4xi32>) -> tensor<3x4xi1>
    %c_2 = stablehlo.constant dense<0> : tensor<i32>
    %7 = stablehlo.broadcast_in_dim %c_2, dims = [] : (tensor<i32>) -> tensor<3x4xi32>
    %8 = stablehlo.compare LT, %4, %7, SIGNED : (tensor<3x4xi32>, tensor<3x4xi32>) -> tensor<3x4xi1>
    %c_3 = stablehlo.constant dense<0> : tensor<i32>
    %9 = stablehlo.broadcast_in_dim %c_3, dims = [] : (tensor<i32>) -> tensor<3x4xi32>
    %10 = stablehlo.compare LT, %3, %9, SIGNED : (tensor<3x4xi32>, tensor<3x4xi32>) -> tensor<3x4xi1>
    %11 = stablehlo.compare NE, %8, %10, UNSIGNED : (tensor<3x4xi1>, tensor<3x4xi1>) -> tensor<3x4xi1>
    %12 = stablehlo.and %11, %6 : tensor<3x4xi1>
    %13 = stablehlo.add %4, %3 : tensor<3x4xi32>
    %14 = stablehlo.select %12, %13, %4 : tensor<3x4xi1>, tensor<3x4xi32>
    return %14 : tensor<3x4xi32>
  }
  func.func private @cumsum(%arg0: tensor<3x4xi32>) -> tensor<3x4xi32> {
    %0 = call @cumsum_0(%arg0) : (tensor<3x4xi32>) -> tensor<3x4xi32>
    return %0 : tensor<3x4xi32>
  }
  func.func private @cumsum_0(%arg0: tensor<3x4xi32>) -> tensor<3x4xi32> {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<i32>
    %1 = "stablehlo.reduce_window"(%arg0, %0) <{base_dilations = array<i64: 1, 1>, padding = dense<[[2, 0], [0, 0]]> : tensor<2x2xi64>, window_dilations = array<i64: 1, 1>, window_dimensions = array<i64: 3, 1>, window_strides = array<i64: 1, 1>}> ({
    ^bb0(%arg1: tensor<i32>, %arg2: tensor<i32>):
      %2 = stablehlo.add %arg1, %arg2 : tensor<i32>
      stablehlo.return %2 : tensor<i32>
    }) : (tensor<3x4xi32>, tensor<i32>) -> tensor<3x4xi32>
    return %1 : tensor<3x4xi32>
  }
}

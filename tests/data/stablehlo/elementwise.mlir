module @jit_elementwise attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<3x5xf32>, %arg1: tensor<3x5xf32>) -> (tensor<3x5xf32> {jax.result_info = "result[0]"}, tensor<3x5xf32> {jax.result_info = "result[1]"}, tensor<3x5xf32> {jax.result_info = "result[2]"}, tensor<3x5xf32> {jax.result_info = "result[3]"}, tensor<3x5xf32> {jax.result_info = "result[4]"}, tensor<3x5xf32> {jax.result_info = "result[5]"}, tensor<3x5xf32> {jax.result_info = "result[6]"}, tensor<3x5xi1> {jax.result_info = "result[7]"}, tensor<3x5xf32> {jax.result_info = "result[8]"}, tensor<3x5xf32> {jax.result_info = "result[9]"}, tensor<3x5xf32> {jax.result_info = "result[10]"}, tensor<3x5xf32> {jax.result_info = "result[11]"}, tensor<3x5xf32> {jax.result_info = "result[12]"}, tensor<3x5xf32> {jax.result_info = "result[13]"}, tensor<3x5xf32> {jax.result_info = "result[14]"}, tensor<3x5xf32> {jax.result_info = "result[15]"}, tensor<3x5xf32> {jax.result_info = "result[16]"}, tensor<3x5xf32> {jax.result_info = "result[17]"}, tensor<3x5xf32> {jax.result_info = "result[18]"}, tensor<3x5xf32> {jax.result_info = "result[19]"}, tensor<3x5xf32> {jax.result_info = "result[20]"}, tensor<3x5xf32> {jax.result_info = "result[21]"}, tensor<3x5xf32> {jax.result_info = "result[22]"}, tensor<3x5xf32> {jax.result_info = "result[23]"}, tensor<3x5xf32> {jax.result_info = "result[24]"}, tensor<3x5xf32> {jax.result_info = "result[25]"}, tensor<3x5xf32> {jax.result_info = "result[26]"}, tensor<3x5xf32> {jax.result_info = "result[27]"}, tensor<3x5xf32> {jax.result_info = "result[28]"}, tensor<3x5xf32> {jax.result_info = "result[29]"}, tensor<3x5xf32> {jax.result_info = "result[30]"}, tensor<3x5xi1> {jax.result_info = "result[31]"}, tensor<3x5xf32> {jax.result_info = "result[32]"}, tensor<3x5xi32> {jax.result_info = "result[33]"}, tensor<3x5xi32> {jax.result_info = "result[34]"}, tensor<3x5xf32> {jax.result_info = "result[35]"}) {
    %cst = stablehlo.constant dense<2.000000e-01> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<3x5xf32>
    %1 = stablehlo.multiply %arg1, %0 : tensor<3x5xf32>
    %cst_0 = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %2 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<3x5xf32>
    %3 = stablehlo.subtract %1, %2 : tensor<3x5xf32>
    %4 = stablehlo.abs %arg0 : tensor<3x5xf32>
    %5 = stablehlo.cbrt %arg0 : tensor<3x5xf32>
    %6 = stablehlo.ceil %arg0 : tensor<3x5xf32>
    %7 = stablehlo.cosine %arg0 : tensor<3x5xf32>
    %8 = stablehlo.exponential %arg0 : tensor<3x5xf32>
    %9 = stablehlo.exponential_minus_one %arg0 : tensor<3x5xf32>
    %10 = stablehlo.floor %arg0 : tensor<3x5xf32>
    %11 = stablehlo.slice %arg0 [0:1, 0:1] : (tensor<3x5xf32>) -> tensor<1x1xf32>
    %12 = stablehlo.reshape %11 : (tensor<1x1xf32>) -> tensor<f32>
    %13 = stablehlo.broadcast_in_dim %12, dims = [] : (tensor<f32>) -> tensor<3x5xf32>
    %14 = stablehlo.subtract %arg0, %13 : tensor<3x5xf32>
    %15 = stablehlo.divide %arg0, %14 : tensor<3x5xf32>
    %16 = stablehlo.is_finite %15 : (tensor<3x5xf32>) -> tensor<3x5xi1>
    %17 = stablehlo.log %arg1 : tensor<3x5xf32>
    %18 = stablehlo.log_plus_one %arg1 : tensor<3x5xf32>
    %19 = stablehlo.negate %arg0 : tensor<3x5xf32>
    %20 = stablehlo.exponential %19 : tensor<3x5xf32>
    %cst_1 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %21 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<3x5xf32>
    %22 = stablehlo.add %21, %20 : tensor<3x5xf32>
    %cst_2 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %23 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<3x5xf32>
    %24 = stablehlo.divide %23, %22 : tensor<3x5xf32>
    %25 = stablehlo.negate %arg0 : tensor<3x5xf32>
    %cst_3 = stablehlo.constant dense<4.000000e+00> : tensor<f32>
    %26 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<3x5xf32>
    %27 = stablehlo.multiply %arg0, %26 : tensor<3x5xf32>
    %28 = stablehlo.round_nearest_afz %27 : tensor<3x5xf32>
    %cst_4 = stablehlo.constant dense<4.000000e+00> : tensor<f32>
    %29 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f32>) -> tensor<3x5xf32>
    %30 = stablehlo.multiply %arg0, %29 : tensor<3x5xf32>
    %31 = stablehlo.round_nearest_even %30 : tensor<3x5xf32>
    %32 = stablehlo.rsqrt %arg1 : tensor<3x5xf32>
    %33 = stablehlo.sign %arg0 : tensor<3x5xf32>
    %34 = stablehlo.sine %arg0 : tensor<3x5xf32>
    %35 = stablehlo.sqrt %arg1 : tensor<3x5xf32>
    %36 = stablehlo.tan %arg0 : tensor<3x5xf32>
    %37 = stablehlo.tanh %arg0 : tensor<3x5xf32>
    %38 = chlo.erf %arg0 : tensor<3x5xf32> -> tensor<3x5xf32>
    %39 = chlo.erfc %arg0 : tensor<3x5xf32> -> tensor<3x5xf32>
    %40 = chlo.square %arg0 : tensor<3x5xf32> -> tensor<3x5xf32>
    %41 = chlo.asin %3 : tensor<3x5xf32> -> tensor<3x5xf32>
    %42 = chlo.acos %3 : tensor<3x5xf32> -> tensor<3x5xf32>
    %43 = chlo.atan %arg0 : tensor<3x5xf32> -> tensor<3x5xf32>
    %44 = chlo.sinh %arg0 : tensor<3x5xf32> -> tensor<3x5xf32>
    %45 = chlo.cosh %arg0 : tensor<3x5xf32> -> tensor<3x5xf32>
    %46 = chlo.asinh %arg0 : tensor<3x5xf32> -> tensor<3x5xf32>
    %cst_5 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %47 = stablehlo.broadcast_in_dim %cst_5, dims = [] : (tensor<f32>) -> tensor<3x5xf32>
    %48 = stablehlo.add %arg1, %47 : tensor<3x5xf32>
    %49 = call @arccosh(%48) : (tensor<3x5xf32>) -> tensor<3x5xf32>
    %50 = chlo.atanh %3 : tensor<3x5xf32> -> tensor<3x5xf32>
    %cst_6 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %51 = stablehlo.broadcast_in_dim %cst_6, dims = [] : (tensor<f32>) -> tensor<3x5xf32>
    %52 = stablehlo.divide %arg0, %51 : tensor<3x5xf32>
    %53 = call @isinf(%52) : (tensor<3x5xf32>) -> tensor<3x5xi1>
    %54 = stablehlo.reduce_precision %arg0, format = e5m10 : tensor<3x5xf32>
    %55 = stablehlo.bitcast_convert %arg0 : (tensor<3x5xf32>) -> tensor<3x5xi32>
    %56 = stablehlo.convert %arg0 : (tensor<3x5xf32>) -> tensor<3x5xi32>
    %57 = stablehlo.convert %arg0 : (tensor<3x5xf32>) -> tensor<3x5xf16>
    %58 = stablehlo.convert %57 : (tensor<3x5xf16>) -> tensor<3x5xf32>
    return %4, %5, %6, %7, %8, %9, %10, %16, %17, %18, %24, %25, %28, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %49, %50, %53, %54, %55, %56, %58 : tensor<3x5xf32>, tensor<3x5xf32>, tensor<3x5xf32>, tensor<3x5xf32>, tensor<3x5xf32>, tensor<3x5xf32>, tensor<3x5xf32>, tensor<3x5xi1>, tensor<3x5xf32>, tensor<3x5xf32>, tensor<3x5xf32>, tensor<3x5xf32>, tensor<3x5xf32>, tensor<3x5xf32>, tensor<3x5xf32>, tensor<3x5xf32>, tensor<3x5xf32>, tensor<3x5xf32>, tensor<3x5xf32>, tensor<3x5xf32>, tensor<3x5xf32>, tensor<3x5xf32>, tensor<3x5xf32>, tensor<3x5xf32>, tensor<3x5xf32>, tensor<3x5xf32>, tensor<3x5xf32>, tensor<3x5xf32>, tensor<3x5xf32>, tensor<3x5xf32>, tensor<3x5xf32>, tensor<3x5xi1>, tensor<3x5xf32>, tensor<3x5xi32>, tensor<3x5xi32>, tensor<3x5xf32>
  }
  func.func private @arccosh(%arg0: tensor<3x5xf32>) -> tensor<3x5xf32> {
    %0 = chlo.acosh %arg0 : tensor<3x5xf32> -> tensor<3x5xf32>
    return %0 : tensor<3x5xf32>
  }
  func.func private @isinf(%arg0: tensor<3x5xf32>) -> tensor<3x5xi1> {
    %0 = stablehlo.abs %arg0 : tensor<3x5xf32>
    %cst = stablehlo.constant dense<0x7F800000> : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<3x5xf32>
    %2 = stablehlo.compare EQ, %0, %1, FLOAT : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xi1>
    return %2 : tensor<3x5xi1>
  }
}

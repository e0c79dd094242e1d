module @jit_control attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<4x3xf32>, %arg1: tensor<i32>, %arg2: tensor<f32>) -> (tensor<f32> {jax.result_info = "result[0][0]"}, tensor<4xf32> {jax.result_info = "result[0][1]"}, tensor<i32> {jax.result_info = "result[1][0]"}, tensor<4x3xf32> {jax.result_info = "result[1][1]"}, tensor<4x3xf32> {jax.result_info = "result[2]"}, tensor<4x3xf32> {jax.result_info = "result[3]"}, tensor<3xf32> {jax.result_info = "result[4]"}, tensor<4x3xf32> {jax.result_info = "result[5]"}, tensor<i32> {jax.result_info = "result[6][0]"}, tensor<4x3xf32> {jax.result_info = "result[6][1]"}, tensor<3xf32> {jax.result_info = "result[7][0]"}, tensor<4x3xf32> {jax.result_info = "result[7][1]"}, tensor<4x3xf32> {jax.result_info = "result[8]"}, tensor<4x3xf32> {jax.result_info = "result[9]"}) {
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<4xf32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %1:4 = stablehlo.while(%iterArg = %arg0, %iterArg_18 = %c, %iterArg_19 = %cst, %iterArg_20 = %0) : tensor<4x3xf32>, tensor<i32>, tensor<f32>, tensor<4xf32>
    cond {
      %c_21 = stablehlo.constant dense<4> : tensor<i32>
      %42 = stablehlo.compare LT, %iterArg_18, %c_21, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %42 : tensor<i1>
    } do {
      %42 = func.call @dynamic_index_in_dim(%iterArg, %iterArg_18) : (tensor<4x3xf32>, tensor<i32>) -> tensor<3xf32>
      %43:2 = func.call @closed_call(%iterArg_19, %42) : (tensor<f32>, tensor<3xf32>) -> (tensor<f32>, tensor<f32>)
      %44 = func.call @dynamic_update_index_in_dim(%iterArg_20, %43#1, %iterArg_18) : (tensor<4xf32>, tensor<f32>, tensor<i32>) -> tensor<4xf32>
      %c_21 = stablehlo.constant dense<1> : tensor<i32>
      %45 = stablehlo.add %iterArg_18, %c_21 : tensor<i32>
      stablehlo.return %iterArg, %45, %43#0, %44 : tensor<4x3xf32>, tensor<i32>, tensor<f32>, tensor<4xf32>
    }
    %c_1 = stablehlo.constant dense<0> : tensor<i32>
    %2:2 = stablehlo.while(%iterArg = %c_1, %iterArg_18 = %arg0) : tensor<i32>, tensor<4x3xf32>
    cond {
      %c_19 = stablehlo.constant dense<5> : tensor<i32>
      %42 = stablehlo.compare LT, %iterArg, %c_19, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %42 : tensor<i1>
    } do {
      %c_19 = stablehlo.constant dense<1> : tensor<i32>
      %42 = stablehlo.add %iterArg, %c_19 : tensor<i32>
      %cst_20 = stablehlo.constant dense<1.100000e+00> : tensor<f32>
      %43 = stablehlo.broadcast_in_dim %cst_20, dims = [] : (tensor<f32>) -> tensor<4x3xf32>
      %44 = stablehlo.multiply %iterArg_18, %43 : tensor<4x3xf32>
      stablehlo.return %42, %44 : tensor<i32>, tensor<4x3xf32>
    }
    %c_2 = stablehlo.constant dense<1> : tensor<i32>
    %3 = stablehlo.compare GT, %arg1, %c_2, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %4 = stablehlo.convert %3 : (tensor<i1>) -> tensor<i32>
    %5 = "stablehlo.case"(%4) ({
      %cst_18 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
      %42 = stablehlo.broadcast_in_dim %cst_18, dims = [] : (tensor<f32>) -> tensor<4x3xf32>
      %43 = stablehlo.multiply %arg0, %42 : tensor<4x3xf32>
      stablehlo.return %43 : tensor<4x3xf32>
    }, {
      %cst_18 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
      %42 = stablehlo.broadcast_in_dim %cst_18, dims = [] : (tensor<f32>) -> tensor<4x3xf32>
      %43 = stablehlo.add %arg0, %42 : tensor<4x3xf32>
      stablehlo.return %43 : tensor<4x3xf32>
    }) : (tensor<i32>) -> tensor<4x3xf32>
    %c_3 = stablehlo.constant dense<0> : tensor<i32>
    %c_4 = stablehlo.constant dense<3> : tensor<i32>
    %6 = stablehlo.clamp %c_3, %arg1, %c_4 : tensor<i32>
    %7 = "stablehlo.case"(%6) ({
      stablehlo.return %arg0 : tensor<4x3xf32>
    }, {
      %cst_18 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
      %42 = stablehlo.broadcast_in_dim %cst_18, dims = [] : (tensor<f32>) -> tensor<4x3xf32>
      %43 = stablehlo.multiply %arg0, %42 : tensor<4x3xf32>
      stablehlo.return %43 : tensor<4x3xf32>
    }, {
      %cst_18 = stablehlo.constant dense<3.000000e+00> : tensor<f32>
      %42 = stablehlo.broadcast_in_dim %cst_18, dims = [] : (tensor<f32>) -> tensor<4x3xf32>
      %43 = stablehlo.multiply %arg0, %42 : tensor<4x3xf32>
      stablehlo.return %43 : tensor<4x3xf32>
    }, {
      %cst_18 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
      %42 = stablehlo.broadcast_in_dim %cst_18, dims = [] : (tensor<f32>) -> tensor<4x3xf32>
      %43 = stablehlo.subtract %arg0, %42 : tensor<4x3xf32>
      stablehlo.return %43 : tensor<4x3xf32>
    }) : (tensor<i32>) -> tensor<4x3xf32>
    %8 = stablehlo.slice %arg0 [1:2, 0:3] : (tensor<4x3xf32>) -> tensor<1x3xf32>
    %9 = stablehlo.reshape %8 : (tensor<1x3xf32>) -> tensor<3xf32>
    %c_5 = stablehlo.constant dense<0> : tensor<i32>
    %c_6 = stablehlo.constant dense<0> : tensor<i32>
    %10:4 = stablehlo.while(%iterArg = %arg0, %iterArg_18 = %c_6, %iterArg_19 = %c_5, %iterArg_20 = %9) : tensor<4x3xf32>, tensor<i32>, tensor<i32>, tensor<3xf32>
    cond {
      %c_21 = stablehlo.constant dense<7> : tensor<i32>
      %42 = stablehlo.compare LT, %iterArg_18, %c_21, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %42 : tensor<i1>
    } do {
      %42:2 = func.call @closed_call_0(%iterArg, %iterArg_19, %iterArg_20) : (tensor<4x3xf32>, tensor<i32>, tensor<3xf32>) -> (tensor<i32>, tensor<3xf32>)
      %c_21 = stablehlo.constant dense<1> : tensor<i32>
      %43 = stablehlo.add %iterArg_18, %c_21 : tensor<i32>
      stablehlo.return %iterArg, %43, %42#0, %42#1 : tensor<4x3xf32>, tensor<i32>, tensor<i32>, tensor<3xf32>
    }
    %cst_7 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %11 = stablehlo.broadcast_in_dim %cst_7, dims = [] : (tensor<f32>) -> tensor<4x3xf32>
    %c_8 = stablehlo.constant dense<0> : tensor<i32>
    %12:3 = stablehlo.while(%iterArg = %arg0, %iterArg_18 = %c_8, %iterArg_19 = %11) : tensor<4x3xf32>, tensor<i32>, tensor<4x3xf32>
    cond {
      %c_20 = stablehlo.constant dense<4> : tensor<i32>
      %42 = stablehlo.compare LT, %iterArg_18, %c_20, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %42 : tensor<i1>
    } do {
      %42 = func.call @dynamic_index_in_dim(%iterArg, %iterArg_18) : (tensor<4x3xf32>, tensor<i32>) -> tensor<3xf32>
      %43 = func.call @closed_call_1(%42) : (tensor<3xf32>) -> tensor<3xf32>
      %44 = func.call @dynamic_update_index_in_dim_2(%iterArg_19, %43, %iterArg_18) : (tensor<4x3xf32>, tensor<3xf32>, tensor<i32>) -> tensor<4x3xf32>
      %c_20 = stablehlo.constant dense<1> : tensor<i32>
      %45 = stablehlo.add %iterArg_18, %c_20 : tensor<i32>
      stablehlo.return %iterArg, %45, %44 : tensor<4x3xf32>, tensor<i32>, tensor<4x3xf32>
    }
    %13 = stablehlo.abs %arg0 : tensor<4x3xf32>
    %c_9 = stablehlo.constant dense<0> : tensor<i32>
    %14:3 = stablehlo.while(%iterArg = %arg2, %iterArg_18 = %c_9, %iterArg_19 = %13) : tensor<f32>, tensor<i32>, tensor<4x3xf32>
    cond {
      %cst_20 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
      %42 = stablehlo.reduce(%iterArg_19 init: %cst_20) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x3xf32>, tensor<f32>) -> tensor<f32>
      %43 = stablehlo.compare LT, %42, %iterArg, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %43 : tensor<i1>
    } do {
      %c_20 = stablehlo.constant dense<1> : tensor<i32>
      %42 = stablehlo.add %iterArg_18, %c_20 : tensor<i32>
      %cst_21 = stablehlo.constant dense<2.500000e-01> : tensor<f32>
      %43 = stablehlo.broadcast_in_dim %cst_21, dims = [] : (tensor<f32>) -> tensor<4x3xf32>
      %44 = stablehlo.add %iterArg_19, %43 : tensor<4x3xf32>
      stablehlo.return %iterArg, %42, %44 : tensor<f32>, tensor<i32>, tensor<4x3xf32>
    }
    %15 = stablehlo.slice %arg0 [0:1, 0:3] : (tensor<4x3xf32>) -> tensor<1x3xf32>
    %16 = stablehlo.reshape %15 : (tensor<1x3xf32>) -> tensor<3xf32>
    %cst_10 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %17 = stablehlo.broadcast_in_dim %cst_10, dims = [] : (tensor<f32>) -> tensor<4x3xf32>
    %c_11 = stablehlo.constant dense<0> : tensor<i32>
    %18:4 = stablehlo.while(%iterArg = %arg0, %iterArg_18 = %c_11, %iterArg_19 = %16, %iterArg_20 = %17) : tensor<4x3xf32>, tensor<i32>, tensor<3xf32>, tensor<4x3xf32>
    cond {
      %c_21 = stablehlo.constant dense<4> : tensor<i32>
      %42 = stablehlo.compare LT, %iterArg_18, %c_21, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %42 : tensor<i1>
    } do {
      %c_21 = stablehlo.constant dense<4> : tensor<i32>
      %42 = stablehlo.subtract %c_21, %iterArg_18 : tensor<i32>
      %c_22 = stablehlo.constant dense<1> : tensor<i32>
      %43 = stablehlo.subtract %42, %c_22 : tensor<i32>
      %44 = func.call @dynamic_index_in_dim(%iterArg, %43) : (tensor<4x3xf32>, tensor<i32>) -> tensor<3xf32>
      %45:2 = func.call @closed_call_3(%iterArg_19, %44) : (tensor<3xf32>, tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>)
      %46 = func.call @dynamic_update_index_in_dim_2(%iterArg_20, %45#1, %43) : (tensor<4x3xf32>, tensor<3xf32>, tensor<i32>) -> tensor<4x3xf32>
      %c_23 = stablehlo.constant dense<1> : tensor<i32>
      %47 = stablehlo.add %iterArg_18, %c_23 : tensor<i32>
      stablehlo.return %iterArg, %47, %45#0, %46 : tensor<4x3xf32>, tensor<i32>, tensor<3xf32>, tensor<4x3xf32>
    }
    %19 = stablehlo.slice %arg0 [0:3:2, 0:3] : (tensor<4x3xf32>) -> tensor<2x3xf32>
    %20 = stablehlo.slice %arg0 [1:4:2, 0:3] : (tensor<4x3xf32>) -> tensor<2x3xf32>
    %21 = stablehlo.add %19, %20 : tensor<2x3xf32>
    %22 = stablehlo.slice %21 [0:1:2, 0:3] : (tensor<2x3xf32>) -> tensor<1x3xf32>
    %23 = stablehlo.slice %21 [1:2:2, 0:3] : (tensor<2x3xf32>) -> tensor<1x3xf32>
    %24 = stablehlo.add %22, %23 : tensor<1x3xf32>
    %25 = stablehlo.slice %24 [0:0, 0:3] : (tensor<1x3xf32>) -> tensor<0x3xf32>
    %26 = stablehlo.slice %21 [2:2:2, 0:3] : (tensor<2x3xf32>) -> tensor<0x3xf32>
    %27 = stablehlo.add %25, %26 : tensor<0x3xf32>
    %28 = stablehlo.slice %21 [0:1, 0:3] : (tensor<2x3xf32>) -> tensor<1x3xf32>
    %29 = stablehlo.concatenate %28, %27, dim = 0 : (tensor<1x3xf32>, tensor<0x3xf32>) -> tensor<1x3xf32>
    %cst_12 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %30 = stablehlo.pad %29, %cst_12, low = [0, 0], high = [1, 0], interior = [1, 0] : (tensor<1x3xf32>, tensor<f32>) -> tensor<2x3xf32>
    %cst_13 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %31 = stablehlo.pad %24, %cst_13, low = [1, 0], high = [0, 0], interior = [1, 0] : (tensor<1x3xf32>, tensor<f32>) -> tensor<2x3xf32>
    %32 = stablehlo.add %30, %31 : tensor<2x3xf32>
    %33 = stablehlo.slice %32 [0:1, 0:3] : (tensor<2x3xf32>) -> tensor<1x3xf32>
    %34 = stablehlo.slice %arg0 [2:4:2, 0:3] : (tensor<4x3xf32>) -> tensor<1x3xf32>
    %35 = stablehlo.add %33, %34 : tensor<1x3xf32>
    %36 = stablehlo.slice %arg0 [0:1, 0:3] : (tensor<4x3xf32>) -> tensor<1x3xf32>
    %37 = stablehlo.concatenate %36, %35, dim = 0 : (tensor<1x3xf32>, tensor<1x3xf32>) -> tensor<2x3xf32>
    %cst_14 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %38 = stablehlo.pad %37, %cst_14, low = [0, 0], high = [1, 0], interior = [1, 0] : (tensor<2x3xf32>, tensor<f32>) -> tensor<4x3xf32>
    %cst_15 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %39 = stablehlo.pad %32, %cst_15, low = [1, 0], high = [0, 0], interior = [1, 0] : (tensor<2x3xf32>, tensor<f32>) -> tensor<4x3xf32>
    %40 = stablehlo.add %38, %39 : tensor<4x3xf32>
    %c_16 = stablehlo.constant dense<0> : tensor<i32>
    %c_17 = stablehlo.constant dense<0> : tensor<i32>
    %41:4 = stablehlo.while(%iterArg = %arg0, %iterArg_18 = %c_17, %iterArg_19 = %c_16, %iterArg_20 = %arg0) : tensor<4x3xf32>, tensor<i32>, tensor<i32>, tensor<4x3xf32>
    cond {
      %c_21 = stablehlo.constant dense<3> : tensor<i32>
      %42 = stablehlo.compare LT, %iterArg_18, %c_21, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %42 : tensor<i1>
    } do {
      %42:2 = func.call @closed_call_4(%iterArg, %iterArg_19, %iterArg_20) : (tensor<4x3xf32>, tensor<i32>, tensor<4x3xf32>) -> (tensor<i32>, tensor<4x3xf32>)
      %c_21 = stablehlo.constant dense<1> : tensor<i32>
      %43 = stablehlo.add %iterArg_18, %c_21 : tensor<i32>
      stablehlo.return %iterArg, %43, %42#0, %42#1 : tensor<4x3xf32>, tensor<i32>, tensor<i32>, tensor<4x3xf32>
    }
    return %1#2, %1#3, %2#0, %2#1, %5, %7, %10#3, %12#2, %14#1, %14#2, %18#2, %18#3, %40, %41#3 : tensor<f32>, tensor<4xf32>, tensor<i32>, tensor<4x3xf32>, tensor<4x3xf32>, tensor<4x3xf32>, tensor<3xf32>, tensor<4x3xf32>, tensor<i32>, tensor<4x3xf32>, tensor<3xf32>, tensor<4x3xf32>, tensor<4x3xf32>, tensor<4x3xf32>
  }
  func.func private @dynamic_index_in_dim(%arg0: tensor<4x3xf32>, %arg1: tensor<i32>) -> tensor<3xf32> {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.dynamic_slice %arg0, %arg1, %c, sizes = [1, 3] : (tensor<4x3xf32>, tensor<i32>, tensor<i32>) -> tensor<1x3xf32>
    %1 = stablehlo.reshape %0 : (tensor<1x3xf32>) -> tensor<3xf32>
    return %1 : tensor<3xf32>
  }
  func.func private @closed_call(%arg0: tensor<f32>, %arg1: tensor<3xf32>) -> (tensor<f32>, tensor<f32>) {
    %cst = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %0 = stablehlo.multiply %arg0, %cst : tensor<f32>
    %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %1 = stablehlo.reduce(%arg1 init: %cst_0) applies stablehlo.add across dimensions = [0] : (tensor<3xf32>, tensor<f32>) -> tensor<f32>
    %2 = stablehlo.add %0, %1 : tensor<f32>
    %cst_1 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %3 = stablehlo.add %arg0, %cst_1 : tensor<f32>
    return %2, %3 : tensor<f32>, tensor<f32>
  }
  func.func private @dynamic_update_index_in_dim(%arg0: tensor<4xf32>, %arg1: tensor<f32>, %arg2: tensor<i32>) -> tensor<4xf32> {
    %0 = stablehlo.broadcast_in_dim %arg1, dims = [] : (tensor<f32>) -> tensor<1xf32>
    %1 = stablehlo.dynamic_update_slice %arg0, %0, %arg2 : (tensor<4xf32>, tensor<1xf32>, tensor<i32>) -> tensor<4xf32>
    return %1 : tensor<4xf32>
  }
  func.func private @closed_call_0(%arg0: tensor<4x3xf32>, %arg1: tensor<i32>, %arg2: tensor<3xf32>) -> (tensor<i32>, tensor<3xf32>) {
    %c = stablehlo.constant dense<1> : tensor<i32>
    %0 = stablehlo.add %arg1, %c : tensor<i32>
    %1 = stablehlo.slice %arg0 [0:1, 0:3] : (tensor<4x3xf32>) -> tensor<1x3xf32>
    %2 = stablehlo.reshape %1 : (tensor<1x3xf32>) -> tensor<3xf32>
    %3 = stablehlo.convert %arg1 : (tensor<i32>) -> tensor<f32>
    %4 = stablehlo.broadcast_in_dim %3, dims = [] : (tensor<f32>) -> tensor<3xf32>
    %5 = stablehlo.multiply %4, %2 : tensor<3xf32>
    %6 = stablehlo.add %arg2, %5 : tensor<3xf32>
    return %0, %6 : tensor<i32>, tensor<3xf32>
  }
  func.func private @closed_call_1(%arg0: tensor<3xf32>) -> tensor<3xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.reduce(%arg0 init: %cst) applies stablehlo.add across dimensions = [0] : (tensor<3xf32>, tensor<f32>) -> tensor<f32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<3xf32>
    %2 = stablehlo.multiply %arg0, %1 : tensor<3xf32>
    return %2 : tensor<3xf32>
  }
  func.func private @dynamic_update_index_in_dim_2(%arg0: tensor<4x3xf32>, %arg1: tensor<3xf32>, %arg2: tensor<i32>) -> tensor<4x3xf32> {
    %0 = stablehlo.broadcast_in_dim %arg1, dims = [1] : (tensor<3xf32>) -> tensor<1x3xf32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %1 = stablehlo.dynamic_update_slice %arg0, %0, %arg2, %c : (tensor<4x3xf32>, tensor<1x3xf32>, tensor<i32>, tensor<i32>) -> tensor<4x3xf32>
    return %1 : tensor<4x3xf32>
  }
  func.func private @closed_call_3(%arg0: tensor<3xf32>, %arg1: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>) {
    %0 = stablehlo.add %arg0, %arg1 : tensor<3xf32>
    return %0, %arg0 : tensor<3xf32>, tensor<3xf32>
  }
  func.func private @closed_call_4(%arg0: tensor<4x3xf32>, %arg1: tensor<i32>, %arg2: tensor<4x3xf32>) -> (tensor<i32>, tensor<4x3xf32>) {
    %c = stablehlo.constant dense<1> : tensor<i32>
    %0 = stablehlo.add %arg1, %c : tensor<i32>
    %c_0 = stablehlo.constant dense<1> : tensor<i32>
    %1 = stablehlo.compare GT, %arg1, %c_0, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %2 = stablehlo.convert %1 : (tensor<i1>) -> tensor<i32>
    %3 = "stablehlo.case"(%2) ({
      %4 = stablehlo.slice %arg0 [0:1, 0:1] : (tensor<4x3xf32>) -> tensor<1x1xf32>
      %5 = stablehlo.reshape %4 : (tensor<1x1xf32>) -> tensor<f32>
      %6 = stablehlo.broadcast_in_dim %5, dims = [] : (tensor<f32>) -> tensor<4x3xf32>
      %7 = stablehlo.add %arg2, %6 : tensor<4x3xf32>
      stablehlo.return %7 : tensor<4x3xf32>
    }, {
      %cst = stablehlo.constant dense<2.000000e+00> : tensor<f32>
      %4 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<4x3xf32>
      %5 = stablehlo.multiply %arg2, %4 : tensor<4x3xf32>
      stablehlo.return %5 : tensor<4x3xf32>
    }) : (tensor<i32>) -> tensor<4x3xf32>
    return %0, %3 : tensor<i32>, tensor<4x3xf32>
  }
}

// Spellings that jax does not print: generic forms, resources, bounds, tuples,
// composites, tokens, aliases of attributes.
#prec = #stablehlo<precision DEFAULT>
"builtin.module"() <{sym_name = "forms"}> ({
  "func.func"() <{function_type = (tensor<?x4xf32>, tensor<4x2xf32>) -> tensor<?x2xf32>, sym_name = "main"}> ({
  ^bb0(%x: tensor<?x4xf32, #stablehlo.bounds<8, ?>>, %w: tensor<4x2xf32>):
    %0 = "stablehlo.dot_general"(%x, %w) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>, precision_config = [#prec, #prec]}> : (tensor<?x4xf32>, tensor<4x2xf32>) -> tensor<?x2xf32>
    %b = "stablehlo.constant"() <{value = dense_resource<bias> : tensor<2xf32>}> : () -> tensor<2xf32>
    %t = "stablehlo.create_token"() : () -> !stablehlo.token
    %1 = "stablehlo.broadcast_in_dim"(%b) <{broadcast_dimensions = array<i64: 1>}> : (tensor<2xf32>) -> tensor<8x2xf32>
    %2 = "stablehlo.add"(%0, %1) : (tensor<?x2xf32>, tensor<8x2xf32>) -> tensor<8x2xf32>
    %3 = "stablehlo.tuple"(%2, %0) : (tensor<8x2xf32>, tensor<?x2xf32>) -> tuple<tensor<8x2xf32>, tensor<?x2xf32>>
    %4 = "stablehlo.get_tuple_element"(%3) <{index = 0 : i32}> : (tuple<tensor<8x2xf32>, tensor<?x2xf32>>) -> tensor<8x2xf32>
    %5 = "stablehlo.composite"(%4) <{composite_attributes = {alpha = 1.0 : f32}, decomposition = @twice, name = "my.twice", version = 0 : i32}> : (tensor<8x2xf32>) -> tensor<8x2xf32>
    %6 = "stablehlo.compare"(%5, %4) <{comparison_direction = #stablehlo<comparison_direction GT>}> : (tensor<8x2xf32>, tensor<8x2xf32>) -> tensor<8x2xi1>
    %7 = stablehlo.custom_call @Sharding(%5) {backend_config = "", mhlo.sharding = "{replicated}"} : (tensor<8x2xf32>) -> tensor<8x2xf32>
    %8 = "stablehlo.select"(%6, %7, %4) : (tensor<8x2xi1>, tensor<8x2xf32>, tensor<8x2xf32>) -> tensor<8x2xf32>
    "func.return"(%8) : (tensor<8x2xf32>) -> ()
  }) : () -> ()
  func.func private @twice(%a: tensor<8x2xf32>) -> tensor<8x2xf32> {
    %0 = stablehlo.add %a, %a : tensor<8x2xf32> loc(fused["add", "x.py":3:1])
    return %0 : tensor<8x2xf32>
  }
}) : () -> ()
{-#
  dialect_resources: {
    builtin: {
      bias: "0x040000000000803F00000040"
    }
  }
#-}

//! Broken ONNX files: each is refused with the file's name, what is wrong and what to do; none panics or
//! exhausts the memory.

use std::path::Path;

use crate::onnx_builder::{
    FREE, bytes, floats, integers, linear, load, model, node, port, typed_port, with_graph,
    with_int, with_ints, written,
};
use hambo_io::onnx::{OnnxError, OnnxPolicy, OnnxTermination};
use ndarray::ArrayView2;
use proptest::prelude::*;
use prost::Message;
use tract_onnx::pb::tensor_proto::{DataLocation, DataType};
use tract_onnx::pb::{GraphProto, ModelProto, StringStringEntryProto, TensorProto};

/// Loading must fail, with the file's name and all the given words.
fn refused(content: &[u8], words: &[&str]) {
    let file = written(content);
    let found = OnnxPolicy::load(file.path(), 2, 1).map(|_| ());
    check_refusal(found, file.path(), words);
}

fn check_refusal(found: Result<(), OnnxError>, path: &Path, words: &[&str]) {
    let message = found.expect_err(&format!("{words:?} was accepted")).to_string();
    println!("{message}\n");
    assert!(message.starts_with(&path.display().to_string()), "{message}");
    for word in words {
        assert!(message.contains(word), "`{word}` is not in: {message}");
    }
}

fn refused_graph(words: &[&str], change: impl FnOnce(&mut GraphProto)) {
    let mut graph = linear();
    change(&mut graph);
    refused(&bytes(graph), words);
}

/// A graph with operators of many kinds, above all those that take shapes and axes.
fn varied() -> GraphProto {
    let mut graph = linear();
    graph.initializer.push(integers("flat", &[-1]));
    graph.initializer.push(integers("column", &[-1, 1]));
    graph.initializer.push(integers("one", &[1]));
    graph.initializer.push(integers("zero", &[0]));
    graph.node = vec![
        node("Gemm", &["state", "weight", "bias"], &["plain"]),
        node("Tanh", &["plain"], &["squashed"]),
        node("Reshape", &["squashed", "flat"], &["flattened"]),
        with_int(node("Unsqueeze", &["flattened", "one"], &["row"]), "unused", 3),
        node("Shape", &["state"], &["shape"]),
        with_int(node("Gather", &["shape", "zero"], &["rows"]), "axis", 0),
        with_int(node("Concat", &["rows", "one"], &["wanted"]), "axis", 0),
        node("Expand", &["bias", "wanted"], &["spread"]),
        node("ConstantOfShape", &["wanted"], &["nothing"]),
        node("Slice", &["state", "zero", "one", "one"], &["first"]),
        with_ints(node("Transpose", &["row"], &["turned"]), "perm", &[1, 0]),
        node("Reshape", &["turned", "column"], &["back"]),
        with_int(node("Concat", &["back", "spread", "nothing", "first"], &["all"]), "axis", 1),
        with_ints(node("ReduceSum", &["all", "one"], &["action"]), "unused", &[1]),
    ];
    graph
}

/// A graph in which `made`, computed by `nodes`, is added to the action.
fn adds_made(graph: &mut GraphProto, nodes: Vec<tract_onnx::pb::NodeProto>) {
    graph.node = nodes;
    graph.node.push(node("ReduceMax", &["made"], &["most"]));
    graph.node.push(node("Gemm", &["state", "weight", "bias"], &["plain"]));
    graph.node.push(node("Add", &["plain", "most"], &["action"]));
}

#[test]
fn files_that_are_no_models() {
    refused(b"", &["empty", "export it again"]);
    refused(b"state,action\n1,2\n", &["not an ONNX file", "export or copy it again"]);
    refused(&[0xff; 100], &["not an ONNX file"]);
    refused(&ModelProto::default().encode_to_vec(), &["empty"]);
    refused(&ModelProto { ir_version: 8, ..Default::default() }.encode_to_vec(), &["no graph"]);
    let whole = bytes(linear());
    refused(&whole[..whole.len() - 5], &["not an ONNX file, or it is cut off"]);
}

#[test]
fn paths_that_are_no_files() {
    let directory = tempfile::tempdir().unwrap();
    let found = OnnxPolicy::load(directory.path(), 2, 1).map(|_| ());
    check_refusal(found, directory.path(), &["not a file"]);
    let missing = directory.path().join("missing.onnx");
    let found = OnnxPolicy::load(&missing, 2, 1).map(|_| ());
    check_refusal(found, &missing, &["cannot read", "check the path"]);
    let large = directory.path().join("large.onnx");
    std::fs::File::create(&large).unwrap().set_len(1 << 40).unwrap();
    let found = OnnxPolicy::load(&large, 2, 1).map(|_| ());
    check_refusal(found, &large, &["1099511627776 bytes", "limit of 268435456"]);
}

#[test]
fn inputs_that_are_not_one_state() {
    refused_graph(&["inputs `state`, `memory`", "expected one, the state ([batch, 2])"], |graph| {
        graph.input.push(port("memory", &[FREE, 4]));
    });
    refused_graph(&["no inputs", "expected one"], |graph| {
        graph.input.clear();
        graph.initializer.push(floats("state", &[1, 2], &[0.0; 2]));
    });
    let expected = "expected [batch, 2]: 2 state columns go in";
    refused_graph(&["`state` is declared as [batch, 3]", expected], |graph| {
        graph.input = vec![port("state", &[FREE, 3])];
        graph.initializer[0] = floats("weight", &[3, 1], &[1.0; 3]);
    });
    refused_graph(&["`state` is declared as [2]", expected], |graph| {
        graph.input = vec![port("state", &[2])];
    });
    refused_graph(&["`state` is declared as [batch, 1, 2]", expected], |graph| {
        graph.input = vec![port("state", &[FREE, 1, 2])];
    });
    for kind in [DataType::Int64, DataType::Double] {
        let name = kind.as_str_name().to_lowercase();
        refused_graph(&["`state` holds", &name, "convert the model to float32"], |graph| {
            graph.input = vec![typed_port("state", kind, &[FREE, 2])];
        });
    }
}

#[test]
fn outputs_that_are_no_action() {
    let expected = "`mean` with one of `log_std` and `std`";
    refused_graph(&["no outputs", expected], |graph| graph.output.clear());
    let identities = |graph: &mut GraphProto, names: &[&str]| {
        graph.output = names.iter().map(|name| port(name, &[FREE, 1])).collect();
        graph.node[0].output = vec!["plain".into()];
        graph.node.extend(names.iter().map(|name| node("Identity", &["plain"], &[name])));
    };
    refused_graph(&["outputs `a`, `b`", expected], |g| identities(g, &["a", "b"]));
    refused_graph(&["outputs `mean`;", expected], |g| identities(g, &["mean"]));
    refused_graph(&["outputs `std`;", expected], |g| identities(g, &["std"]));
    refused_graph(&["`mean`, `log_std`, `std`", expected], |g| {
        identities(g, &["mean", "log_std", "std"]);
    });
    refused_graph(&["`action`, `mean`, `log_std`", expected], |g| {
        identities(g, &["action", "mean", "log_std"]);
    });
    // The plain action takes both signs.
    refused_graph(&["`std` is -", "never negative"], |g| identities(g, &["mean", "std"]));
    refused_graph(
        &["`action` has shape [128, 2]", "expected [128, 1]", "action column"],
        |graph| {
            graph.initializer[0] = floats("weight", &[2, 2], &[1.0; 4]);
        },
    );
    refused_graph(&["`action` has shape [128, 1, 1]", "expected [128, 1]"], |graph| {
        graph.initializer.push(integers("axis", &[1]));
        graph.node[0].output = vec!["flat".into()];
        graph.node.push(node("Unsqueeze", &["flat", "axis"], &["action"]));
    });
    refused_graph(&["`action` has shape [1]", "expected [128, 1]"], |graph| {
        graph.node = vec![node("Identity", &["bias"], &["action"])];
    });
    refused_graph(
        &["`action` holds Bool", "expected floats, or the numbers of choices"],
        |graph| {
            graph.node[0].output = vec!["plain".into()];
            let cast = node("Cast", &["plain"], &["action"]);
            graph.node.push(with_int(cast, "to", DataType::Bool as i64));
        },
    );
    // Numbers of two choices where the data has one column.
    refused_graph(&["`action` has shape [128, 2]", "expected [128, 1]"], |graph| {
        graph.initializer[0] = floats("weight", &[2, 2], &[1.0; 4]);
        graph.node[0].output = vec!["plain".into()];
        let cast = node("Cast", &["plain"], &["action"]);
        graph.node.push(with_int(cast, "to", DataType::Int64 as i64));
    });
}

#[test]
fn tensors_that_are_damaged() {
    refused_graph(&["value 1 of the tensor `weight` is NaN"], |graph| {
        graph.initializer[0] = floats("weight", &[2, 1], &[1.0, f32::NAN]);
    });
    // A rectifier may turn NaN into 0; the weight is found all the same.
    refused_graph(&["value 0 of the tensor `weight` is NaN"], |graph| {
        graph.initializer[0] = floats("weight", &[2, 1], &[f32::NAN, 1.0]);
        graph.node[0].output = vec!["plain".into()];
        graph.node.push(node("Relu", &["plain"], &["action"]));
    });
    refused_graph(
        &["`action` is inf in column 0 when all inputs are 0", "normalisation"],
        |graph| {
            graph.initializer[1] = floats("bias", &[1], &[f32::INFINITY]);
        },
    );
    let huge = i64::MAX;
    refused_graph(&["`weight` is damaged", "impossibly many", "it has 2"], |graph| {
        graph.initializer[0].dims = vec![huge, huge];
    });
    refused_graph(&["`weight` is damaged", "needs 4611686018427387904"], |graph| {
        graph.initializer[0].dims = vec![1 << 62];
    });
    refused_graph(&["`weight` is damaged", "impossibly many"], |graph| {
        graph.initializer[0].dims = vec![-2, -1];
    });
    refused_graph(&["`weight` is damaged", "needs 8 bytes, it has 7"], |graph| {
        graph.initializer[0].float_data.clear();
        graph.initializer[0].raw_data = vec![0; 7];
    });
    refused_graph(&["`weight` is damaged", "undefined, is not supported"], |graph| {
        graph.initializer[0].data_type = 1234;
    });
    refused_graph(
        &["values of `weight` are in another file", "save the model in one file"],
        |graph| {
            let place = StringStringEntryProto { key: "location".into(), value: "w.bin".into() };
            graph.initializer[0].float_data.clear();
            graph.initializer[0].data_location = Some(DataLocation::External as i32);
            graph.initializer[0].external_data = vec![place];
        },
    );
    refused_graph(&["`the_constant` is damaged", "needs 1000000"], |graph| {
        let mut constant = node("Constant", &[], &["unused"]);
        let value = floats("", &[1000, 1000], &[1.0]);
        let kind = tract_onnx::pb::attribute_proto::AttributeType::Tensor as i32;
        constant.attribute.push(tract_onnx::pb::AttributeProto {
            name: "value".into(),
            r#type: kind,
            t: Some(value),
            ..Default::default()
        });
        graph.node.push(constant);
    });
}

#[test]
fn nodes_that_cannot_be_run() {
    refused_graph(
        &["`the_frobnicate` is a `Frobnicate`", "not supported", "opset_version"],
        |graph| {
            graph.node[0] = node("Frobnicate", &["state"], &["action"]);
        },
    );
    refused_graph(&["`the_randomnormallike`", "random numbers", "`mean` and `log_std`"], |graph| {
        graph.node = vec![node("RandomNormalLike", &["state"], &["action"])];
    });
    refused_graph(&["`the_if` (If)", "graph of its own"], |graph| {
        let branch = GraphProto { name: "branch".into(), ..GraphProto::default() };
        graph.node = vec![with_graph(node("If", &["state"], &["action"]), "then_branch", branch)];
    });
    refused_graph(&["node `the_gemm` (Gemm) needs `scale`, which nothing"], |graph| {
        graph.node[0].input[2] = "scale".into();
    });
    refused_graph(&["list of outputs needs `choice`, which nothing"], |graph| {
        graph.output = vec![port("choice", &[FREE, 1])];
    });
    refused_graph(&["cannot be prepared", "dynamic_axes"], |graph| {
        graph.initializer[0] = floats("weight", &[5, 1], &[1.0; 5]);
    });
    refused_graph(&["cannot be prepared"], |graph| {
        graph.node = vec![
            node("Add", &["state", "action"], &["sum"]),
            node("Identity", &["sum"], &["action"]),
        ];
    });
    refused_graph(&["10001 nodes", "limit of 10000"], |graph| {
        graph.node.extend(vec![node("Identity", &["state"], &["unused"]); 10_000]);
    });
    refused_graph(&["cannot be prepared", "dynamic_axes"], |graph| {
        // The batch of one that was there at export.
        graph.initializer.push(integers("shape", &[1, 2]));
        graph.node.insert(0, node("Reshape", &["state", "shape"], &["flat"]));
        graph.node[1].input[0] = "flat".into();
    });
}

#[test]
fn nodes_that_ask_for_all_of_the_memory() {
    let huge = |kind: &str| vec![kind.to_owned(), "more than the limit of".to_owned()];
    let expect = |operator: &str, change: &dyn Fn(&mut GraphProto)| {
        let words = huge(operator);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        refused_graph(&words, |graph| change(graph));
    };
    expect("`the_constantofshape` (ConstantOfShape)", &|graph| {
        graph.initializer.push(integers("shape", &[1 << 20, 1 << 20]));
        adds_made(graph, vec![node("ConstantOfShape", &["shape"], &["made"])]);
    });
    expect("`the_constantofshape` (ConstantOfShape)", &|graph| {
        graph.initializer.push(integers("a", &[1 << 20]));
        graph.initializer.push(integers("b", &[1 << 20]));
        let product = node("Mul", &["a", "b"], &["shape"]);
        adds_made(graph, vec![product, node("ConstantOfShape", &["shape"], &["made"])]);
    });
    expect("`the_constantofshape` (ConstantOfShape)", &|graph| {
        let shape = with_ints(node("Constant", &[], &["shape"]), "value_ints", &[1 << 20; 2]);
        adds_made(graph, vec![shape, node("ConstantOfShape", &["shape"], &["made"])]);
    });
    expect("`the_expand` (Expand)", &|graph| {
        graph.initializer.push(integers("shape", &[1 << 40, 1]));
        adds_made(graph, vec![node("Expand", &["bias", "shape"], &["made"])]);
    });
    expect("`the_tile` (Tile)", &|graph| {
        graph.initializer.push(integers("repeats", &[1 << 40]));
        adds_made(graph, vec![node("Tile", &["bias", "repeats"], &["made"])]);
    });
    expect("`the_range` (Range)", &|graph| {
        let scalar = |name, value| floats(name, &[], &[value]);
        graph.initializer.extend([scalar("0", 0.0), scalar("1", 1.0), scalar("step", 1e-12)]);
        adds_made(graph, vec![node("Range", &["0", "1", "step"], &["made"])]);
    });
    // Two weights of 400 kB make 10^10 values, each of which the file itself justifies.
    expect("`the_matmul`", &|graph| {
        graph.initializer.push(floats("column", &[100_000, 1], &[1.0; 100_000]));
        graph.initializer.push(floats("row", &[1, 100_000], &[1.0; 100_000]));
        adds_made(graph, vec![node("MatMul", &["column", "row"], &["made"])]);
    });
    expect("`the_add`", &|graph| {
        graph.initializer.push(floats("column", &[100_000, 1], &[1.0; 100_000]));
        graph.initializer.push(floats("row", &[1, 100_000], &[1.0; 100_000]));
        adds_made(graph, vec![node("Add", &["column", "row"], &["made"])]);
    });
}

#[test]
fn sizes_that_follow_the_batch_are_no_reason_to_refuse() {
    // log_std spread over the batch, as torch exports `expand_as`.
    let mut graph = linear();
    graph.output = vec![port("mean", &[FREE, 1]), port("log_std", &[FREE, 1])];
    graph.node = vec![
        node("Gemm", &["state", "weight", "bias"], &["mean"]),
        node("Shape", &["mean"], &["shape"]),
        node("Expand", &["constant", "shape"], &["log_std"]),
    ];
    graph.initializer.push(floats("constant", &[1], &[-1.0]));
    assert!(load(&bytes(graph), 2, 1).unwrap().is_stochastic());
}

#[test]
fn results_that_depend_on_other_rows() {
    let words = ["for one and the same row", "evaluation mode", "along the batch"];
    refused_graph(&words, |graph| {
        graph.node = vec![
            with_ints(node("ReduceMean", &["state"], &["centre"]), "axes", &[0]),
            node("Sub", &["state", "centre"], &["centred"]),
            node("Gemm", &["centred", "weight", "bias"], &["action"]),
        ];
    });
    refused_graph(&words, |graph| {
        graph.node[0].output = vec!["plain".into()];
        graph.node.push(with_int(node("Softmax", &["plain"], &["action"]), "axis", 0));
    });
    // Within a batch every row has a number of its own.
    refused_graph(&words, |graph| {
        graph.node[0].output = vec!["plain".into()];
        graph.initializer.push(TensorProto { dims: vec![], ..integers("axis", &[0]) });
        graph.node.push(with_int(node("CumSum", &["plain", "axis"], &["action"]), "exclusive", 0));
    });
}

#[test]
fn functions_that_are_no_rewards_or_terminations() {
    let refused = |graph: GraphProto, words: &[&str]| {
        let file = written(&bytes(graph));
        let found = OnnxTermination::load(file.path(), 2, 1).map(|_| ());
        check_refusal(found, file.path(), words);
    };
    refused(linear(), &["`action` is ", "neither 0 nor 1", "end the graph with a comparison"]);
    let mut graph = linear();
    graph.input.push(port("x", &[FREE, 2]));
    refused(graph, &["inputs `state`, `x`", "`state`, `action` and `next_state`"]);
    let mut graph = linear();
    graph.input.push(port("obs", &[FREE, 2]));
    refused(graph, &["inputs `state`, `obs`", "each once"]);
    let mut graph = linear();
    graph.output.push(port("state", &[FREE, 2]));
    refused(graph, &["outputs `action`, `state`", "one called `reward` or `terminated`"]);
    let mut graph = linear();
    graph.initializer[0] = floats("weight", &[2, 2], &[1.0; 4]);
    refused(graph, &["`action` has shape [128, 2]", "one value per transition"]);
}

proptest! {
    /// Whatever happens to a file's bytes, loading answers: it neither panics nor exhausts the
    /// memory.
    #[test]
    fn damaged_bytes_give_an_answer(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        cut in prop::option::of(any::<prop::sample::Index>()),
    ) {
        let mut content = bytes(varied());
        for (place, value) in changes {
            let place = place.index(content.len());
            content[place] = value;
        }
        if let Some(cut) = cut {
            content.truncate(cut.index(content.len()));
        }
        if let Ok(policy) = load(&content, 2, 1) {
            let actions = policy.mean_actions(ArrayView2::from(&[[1.0, 2.0]])).unwrap();
            prop_assert_eq!(actions.dim(), (1, 1));
        }
    }
}

const OPERATORS: &str = "Abs Add And ArgMax Cast Clip Concat ConstantOfShape Conv CumSum Div Einsum \
    Equal Expand Flatten Gather GatherElements GRU Identity LayerNormalization LSTM MatMul \
    MaxPool Mod NonZero OneHot Pad Pow Range ReduceMax Reshape Resize ScatterElements Shape \
    Softmax Split Squeeze Tile TopK Where";

proptest! {
    /// The same for files that are whole, but make no sense: operators and inputs are exchanged,
    /// and constants hold other numbers.
    #[test]
    fn senseless_graphs_give_an_answer(
        operators in prop::collection::vec(any::<[prop::sample::Index; 2]>(), 0..3),
        wires in prop::collection::vec(any::<[prop::sample::Index; 3]>(), 0..3),
        numbers in prop::collection::vec((2usize..6, -3i64..5000), 0..2),
    ) {
        let mut graph = varied();
        let nodes = graph.node.len();
        let known: Vec<&str> = OPERATORS.split_whitespace().collect();
        for [place, operator] in operators {
            graph.node[place.index(nodes)].op_type = known[operator.index(known.len())].into();
        }
        for [from, to, slot] in wires {
            let wire = graph.node[from.index(nodes)].output[0].clone();
            let inputs = &mut graph.node[to.index(nodes)].input;
            let slot = slot.index(inputs.len());
            inputs[slot] = wire;
        }
        for (constant, number) in numbers {
            let values = graph.initializer[constant].dims[0] as usize;
            let name = graph.initializer[constant].name.clone();
            graph.initializer[constant] = integers(&name, &vec![number; values]);
        }
        if let Ok(policy) = load(&bytes(graph), 2, 1) {
            let actions = policy.mean_actions(ArrayView2::from(&[[1.0, 2.0]])).unwrap();
            prop_assert_eq!(actions.dim(), (1, 1));
        }
    }
}

#[test]
fn the_unbroken_files_are_accepted() {
    assert!(load(&model(linear()).encode_to_vec(), 2, 1).is_ok());
    assert!(load(&bytes(varied()), 2, 1).is_ok());
}

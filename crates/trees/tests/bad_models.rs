//! Files that are no models are refused with the tree and the node, in bounded memory.
#![allow(clippy::unwrap_used)]

use stead_trees::{Limits, ReadOptions, TreeError, read};

fn error(bytes: &[u8]) -> String {
    read(bytes, &ReadOptions::default()).unwrap_err().to_string()
}

/// A saved model of XGBoost with one tree; `change` replaces a part of it.
fn saved(change: (&str, &str)) -> String {
    let text = r#"{"learner": {"feature_names": [], "feature_types": [],
        "gradient_booster": {"name": "gbtree", "model": {"tree_info": [0], "trees": [{
            "base_weights": [0, 1, 2], "default_left": [0, 0, 0], "left_children": [1, -1, -1],
            "right_children": [2, -1, -1], "split_conditions": [0.5, 1, 2], "split_indices": [1, 0, 0],
            "categories": [], "categories_nodes": [], "categories_segments": [], "categories_sizes": [],
            "tree_param": {"size_leaf_vector": "1"}}]}},
        "learner_model_param": {"base_score": "5E-1", "num_class": "0", "num_feature": "2", "num_target": "1"},
        "objective": {"name": "reg:squarederror"}}, "version": [3, 2, 0]}"#;
    assert!(change.0.is_empty() || text.contains(change.0), "{}", change.0);
    text.replace(change.0, change.1)
}

/// A text of LightGBM with one tree.
fn text(change: (&str, &str)) -> String {
    let text = "tree\nversion=v4\nnum_class=1\nnum_tree_per_iteration=1\nmax_feature_idx=1\n\
        objective=regression\nfeature_names=a b\nfeature_infos=[0:1] 0:1:2\n\n\
        Tree=0\nnum_leaves=3\nnum_cat=1\nsplit_feature=0 1\nthreshold=0.5 0\ndecision_type=10 1\n\
        left_child=1 -1\nright_child=-3 -2\nleaf_value=1 2 3\ncat_boundaries=0 1\ncat_threshold=5\n\
        is_linear=0\nshrinkage=1\n\n\nend of trees\n\npandas_categorical:null\n";
    assert!(text.contains(change.0), "{}", change.0);
    text.replace(change.0, change.1)
}

#[test]
fn models_that_the_cases_change_are_good() {
    let options = ReadOptions::default();
    assert_eq!(read(saved(("tree_info", "tree_info")).as_bytes(), &options).unwrap().nodes(), 3);
    assert_eq!(read(text(("tree", "tree")).as_bytes(), &options).unwrap().nodes(), 5);
}

#[test]
fn saved_models_of_xgboost() {
    let cases = [
        (("\"left_children\": [1,", "\"left_children\": [0,"), "tree 0, node 0: reached twice"),
        (("\"right_children\": [2,", "\"right_children\": [1,"), "tree 0, node 1: reached twice"),
        (
            ("\"right_children\": [2,", "\"right_children\": [7,"),
            "below 3, the number of nodes; 7 is not",
        ),
        (("\"right_children\": [2,", "\"right_children\": [-5,"), "tree 0, node 0: reached twice"),
        (
            ("\"split_indices\": [1", "\"split_indices\": [2"),
            "tree 0, node 0: `split_indices` must be below 2",
        ),
        (
            ("\"default_left\": [0, 0, 0]", "\"default_left\": [0]"),
            "`default_left` must be an array of 3",
        ),
        (("[0.5, 1, 2]", "[NaN, 1, 2]"), "tree 0, node 0: `split_conditions` must be numbers"),
        (
            ("\"tree_info\": [0]", "\"tree_info\": [3]"),
            "tree 0: `tree_info` must be an output below 1",
        ),
        (("\"trees\": [{", "\"trees\": [7, {"), "`tree_info` must be an array of 2 numbers"),
        (("gbtree\",", "gblinear\","), "the model: booster `gblinear` is not supported"),
        (("reg:squarederror", "reg:new"), "objective `reg:new` of XGBoost is not supported"),
        (("reg:squarederror", "multi:softmax"), "`num_class` must be at least 2"),
        (("\"5E-1\"", "\"[1,2]\""), "`base_score` must be 1 or 1 numbers, not 2"),
        (("\"5E-1\"", "\"x\""), "`base_score` must be numbers in brackets"),
        (("reg:squarederror", "reg:gamma\", \"x\": \""), "no error"),
        (("\"num_class\": \"0\"", "\"num_class\": \"999999999\""), "more than 16384 outputs"),
        (
            ("\"num_feature\": \"2\"", "\"num_feature\": \"99999999999\""),
            "more than 131072 features",
        ),
        (("\"size_leaf_vector\": \"1\"", "\"size_leaf_vector\": \"3\""), "vectors in its leaves"),
        (
            (
                "\"categories\": [], \"categories_nodes\": []",
                "\"categories\": [1], \"categories_nodes\": [0]",
            ),
            "`categories_segments` must be an array of 1 numbers",
        ),
    ];
    for (change, expected) in cases {
        let found = read(saved(change).as_bytes(), &ReadOptions::default());
        let found = found.map_or_else(|e| e.to_string(), |_| "no error".to_owned());
        assert!(found.contains(expected), "{change:?}: {found}");
    }
}

#[test]
fn texts_of_lightgbm() {
    let cases = [
        (("left_child=1", "left_child=0"), "tree 0, node 0: reached twice"),
        (("left_child=1 -1", "left_child=1 -9"), "below 5, the number of nodes; 10 is not"),
        (("left_child=1 -1", "left_child=1 -.2"), "below 5, the number of nodes"),
        (("threshold=0.5 0", "threshold=0.5"), "tree 0: `threshold` must be 2 numbers"),
        (("threshold=0.5 0", "threshold=0.5 1"), "tree 0, node 1: `threshold` must be an entry of"),
        (("threshold=0.5", "threshold=nan"), "tree 0, node 0: `threshold` must be a number"),
        (("decision_type=10", "decision_type=12"), "tree 0, node 0: `decision_type`"),
        (
            ("split_feature=0", "split_feature=2"),
            "node 0: `split_feature` must be a whole number below 2",
        ),
        (("is_linear=0", "is_linear=1"), "tree 0: a linear tree is not supported"),
        (("regression", "magic"), "objective `magic` of LightGBM is not supported"),
        (
            ("cat_boundaries=0 1", "cat_boundaries=1 0"),
            "tree 0: `cat_boundaries` must be ascending",
        ),
        (("leaf_value=1 2 3", "leaf_value="), "`leaf_value` must be one number or more"),
        (("iteration=1", "iteration=0"), "`num_tree_per_iteration` must be a number from 1 to"),
        (("iteration=1", "iteration=2"), "must be a divisor of the number of trees, 1"),
        (("feature_names=", "x="), "`feature_names`"),
    ];
    for (change, expected) in cases {
        let found = error(text(change).as_bytes());
        assert!(found.contains(expected), "{change:?}: {found}");
    }
}

#[test]
fn dumps() {
    let leaf = r#"{"nodeid": 1, "leaf": 1}, {"nodeid": 2, "leaf": 2}"#;
    let split = |fields: &str, children: &str| {
        format!(r#"[{{"nodeid": 0, {fields} "children": [{children}]}}]"#)
    };
    let good = r#""split": "a", "split_condition": 1, "yes": 1, "no": 2, "missing": 2,"#;
    let cases = [
        (split(good, leaf), "no error"),
        (split(&good.replace("\"yes\": 1", "\"yes\": 7"), leaf), "tree 0, node 0: `yes` must be"),
        (split(&good.replace(", \"missing\": 2", ""), leaf), "tree 0, node 0: `missing` must be"),
        (
            split(&good.replace("\"split_condition\": 1, ", ""), leaf),
            "a split of an indicator feature",
        ),
        (
            split(good, r#"{"nodeid": 1, "leaf": 1}"#),
            "tree 0, node 0: `children` must be two nodes",
        ),
        (split(good, &leaf.replace("\"leaf\": 2", "\"x\": 2")), "tree 0, node 2: `leaf` must be"),
        (r#"[{"bias": [0.5], "weight": [1]}]"#.to_owned(), "booster `gblinear` is not supported"),
        ("[3]".to_owned(), "tree 0: `nodeid` must be a whole number"),
        ("{\"a\": 1}".to_owned(), "not a tree model"),
        ("hello".to_owned(), "not a tree model"),
        ("binf\0\0".to_owned(), "the old binary format of XGBoost is not supported"),
        ("[{\"nodeid\": 0,".to_owned(), "JSON, byte 14: expected a name in quotes"),
    ];
    for (text, expected) in cases {
        let found = read(text.as_bytes(), &ReadOptions::default());
        let found = found.map_or_else(|e| e.to_string(), |_| "no error".to_owned());
        assert!(found.contains(expected), "{text}: {found}");
    }
}

/// A chain of 50,000 splits is computed; deeper ones end at a limit and not at that of the stack.
#[test]
fn deep_trees() {
    let depth = 50_000;
    let mut chain = String::from("[");
    for i in 0..depth {
        let (yes, no) = (2 * i + 1, 2 * i + 2);
        chain += &format!(
            r#"{{"nodeid":{},"split":"a","split_condition":{i},"yes":{yes},"no":{no},"missing":{no},"children":[{{"nodeid":{yes},"leaf":{i}}},"#,
            2 * i
        );
    }
    chain += &format!(r#"{{"nodeid":{},"leaf":-1}}"#, 2 * depth);
    chain += &"]}".repeat(depth);
    chain += "]";
    let model = read(chain.as_bytes(), &ReadOptions::default()).unwrap();
    let forest = stead_trees::Forest::new(&model, stead_trees::Mode::Compat);
    let mut scores = [0.0; 3];
    let rows = [-1.0, 41_000.5, f64::NAN];
    forest.predict(&stead_trees::Rows::of_f64(&rows, 1), &mut scores).unwrap();
    assert_eq!(scores, [0.0, 41_001.0, -1.0]);
    let limits = Limits { depth: 1000, ..Limits::default() };
    let found = read(chain.as_bytes(), &ReadOptions { limits, ..ReadOptions::default() });
    assert!(matches!(found, Err(TreeError::Limit { limit: 1000, .. })));
}

//! The tests of searches but for those of [matching](matching/main.rs), as one program: each of its own would be linked with all that they test,
//! which is 70 MB.

mod asked;
mod chance;
mod changed;
mod harness;

mod addresses;
mod cell_types;
mod damaged;
mod element_features;
mod equiv;
mod expression_functions;
mod grams;
mod graph_time;
mod grouping_random;
mod groupings;
mod hostile_grouping;
mod hostile_requests;
mod hostile_select;
mod hostile_significance;
mod hostile_yql;
mod kept_values;
mod limits;
mod model_threads;
mod native_rank;
mod near;
mod onnx_functions;
mod orders;
mod paged;
mod paged_neighbors;
mod predicate_index;
mod predicates;
mod ranking;
mod searches;
mod several_types;
mod significance;
mod simulation;
mod spans;
mod spending;
mod streaming;
mod summaries;
mod token_lengths;
mod tree_functions;
mod word_features;
mod words;

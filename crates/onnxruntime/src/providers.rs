//! Execution providers: what of ONNX Runtime computes the nodes of a model, by the names that it gives them.

use ort::ep::{self, ArbitrarilyConfigurableExecutionProvider, ExecutionProvider};
use ort::ep::{ExecutionProviderDispatch, ExecutionProviderOptions};
use ort::session::builder::SessionBuilder;
use stead_engine::Provider;

/// What every library has; it takes all nodes that no provider before it took.
const CPU: &str = "CPUExecutionProvider";

/// A provider that takes options by name.
struct Known {
    name: &'static str,
    /// Whether the library was built with it.
    is_available: fn() -> bool,
    build: fn(&[(String, String)]) -> ExecutionProviderDispatch,
}

const fn known<E>() -> Known
where
    E: ExecutionProvider + ArbitrarilyConfigurableExecutionProvider + Default,
    ExecutionProviderDispatch: From<E>,
{
    Known {
        name: E::NAME,
        is_available: || E::is_available().unwrap_or(false),
        build: |options| {
            let mut provider = E::default();
            let all: &mut ExecutionProviderOptions = provider.options_mut();
            options.iter().for_each(|(key, value)| all.set(key.as_str(), value.as_str()));
            ExecutionProviderDispatch::from(provider).error_on_failure()
        },
    }
}

/// Those that can be asked for, besides the CPU's.
const KNOWN: &[Known] = &[
    known::<ep::Azure>(),
    known::<ep::CANN>(),
    known::<ep::CoreML>(),
    known::<ep::CUDA>(),
    known::<ep::OneDNN>(),
    known::<ep::OpenVINO>(),
    known::<ep::QNN>(),
    known::<ep::ROCm>(),
    known::<ep::TensorRT>(),
    known::<ep::Vitis>(),
    known::<ep::XNNPACK>(),
];

/// Gives a session the providers that are wanted, in their order.
///
/// # Errors
/// In words with the name of the provider: one that is not known, that the library has not, or that does not take its options.
pub(crate) fn register(
    mut builder: SessionBuilder,
    wanted: &[Provider<'_>],
) -> Result<SessionBuilder, String> {
    for (place, provider) in wanted.iter().enumerate() {
        let refused = |why: String| format!("execution provider {}: {why}", provider.name);
        if provider.name == CPU {
            // Others behind it would get no node; its memory arena is as for sessions without providers.
            if place + 1 < wanted.len() || !provider.options.is_empty() {
                return Err(refused("it is the last one and takes no options".to_owned()));
            }
            continue;
        }
        let known = KNOWN.iter().find(|known| known.name == provider.name);
        let Some(known) = known.filter(|known| (known.is_available)()) else {
            return Err(refused(format!("the library has {}", available())));
        };
        // The keys become C strings.
        let has_nul = |(key, value): &(String, String)| key.contains('\0') || value.contains('\0');
        if provider.options.iter().any(has_nul) {
            return Err(refused("an option with a byte of zero".to_owned()));
        }
        let built = (known.build)(provider.options);
        builder = builder.with_execution_providers([built]).map_err(|e| refused(e.to_string()))?;
    }
    Ok(builder)
}

/// The names of what this library has.
fn available() -> String {
    let found = KNOWN.iter().filter(|known| (known.is_available)()).map(|known| known.name);
    found.chain([CPU]).collect::<Vec<_>>().join(", ")
}

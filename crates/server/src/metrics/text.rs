//! The two text formats: Prometheus 0.0.4 and OpenMetrics 1.0.

use super::family::{FAMILIES, Family, Kind};
use std::fmt::Write;
use stead_node::{CallKey, DocumentMetrics, Histogram, MetricsSnapshot};

/// Which format is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// Counters by their bare names, as OpenVINO Model Server writes them.
    Prometheus,
    /// Counters with the suffix `_total`, and an end mark.
    OpenMetrics,
}

struct Writer {
    out: String,
    dialect: Dialect,
}

/// The page with the families that `shown` picks.
pub fn render(
    snapshot: &MetricsSnapshot,
    dialect: Dialect,
    shown: impl Fn(&Family) -> bool,
) -> String {
    let mut w = Writer { out: String::new(), dialect };
    for family in FAMILIES.iter().filter(|f| shown(f)) {
        w.family(family, snapshot);
    }
    if dialect == Dialect::OpenMetrics {
        w.out.push_str("# EOF\n");
    }
    w.out
}

/// Label values in quotes with escapes, in the order given.
fn labels(pairs: &[(&str, &str)]) -> String {
    let mut out = String::new();
    for (name, value) in pairs {
        if !out.is_empty() {
            out.push(',');
        }
        // Writing to a String cannot fail.
        let _ = write!(out, "{name}=\"");
        for c in value.chars() {
            match c {
                '"' => out.push_str("\\\""),
                '\\' => out.push_str("\\\\"),
                '\n' => out.push_str("\\n"),
                c => out.push(c),
            }
        }
        out.push('"');
    }
    out
}

impl Writer {
    fn family(&mut self, family: &Family, snapshot: &MetricsSnapshot) {
        let name = family.name;
        let kind = match family.kind {
            Kind::Calls(_) | Kind::Counter(_) | Kind::SequenceCounter(_) => "counter",
            Kind::Count(_) | Kind::StoreCounter(_) | Kind::DocumentsCounter(_) => "counter",
            Kind::Gauge(_) | Kind::SequenceGauge(_) | Kind::Process(_) => "gauge",
            Kind::StoreGauge(_) | Kind::Documents(_) => "gauge",
            Kind::ComponentCounter(_) | Kind::EmbedderCounter(_) => "counter",
            Kind::ProcessCounter(_) => "counter",
            Kind::Times(_)
            | Kind::RequestTimes
            | Kind::Histogram(_)
            | Kind::SequenceHistogram(_) => "histogram",
            Kind::ComponentHistogram(_) | Kind::EmbedderHistogram(_) => "histogram",
        };
        let _ = writeln!(self.out, "# HELP {name} {}\n# TYPE {name} {kind}", family.help);
        if let Kind::Process(value) = family.kind {
            self.sample(name, "", value(snapshot));
            return;
        }
        if let Kind::ProcessCounter(value) = family.kind {
            self.counter(name, "", value(snapshot));
            return;
        }
        if let Some(documents) = &snapshot.documents {
            self.documents(family, documents);
        }
        for component in &snapshot.components {
            let of = labels(&[("component", &component.id), ("kind", component.kind)]);
            match family.kind {
                Kind::ComponentCounter(value) => self.counter(name, &of, value(component)),
                Kind::ComponentHistogram(value) => self.histogram(name, &of, value(component)),
                _ => {}
            }
        }
        for embedder in &snapshot.embedders {
            let of = labels(&[("embedder", &embedder.id)]);
            match family.kind {
                Kind::EmbedderCounter(value) => self.counter(name, &of, value(embedder)),
                Kind::EmbedderHistogram(value) => self.histogram(name, &of, value(embedder)),
                _ => {}
            }
        }
        for model in &snapshot.models {
            if let Kind::Calls(which) = family.kind {
                self.calls(name, &model.name, None, &model.calls, which);
            }
            for v in &model.versions {
                let version = v.version.to_string();
                let of_version = labels(&[("name", &model.name), ("version", &version)]);
                match family.kind {
                    Kind::Calls(which) => {
                        self.calls(name, &model.name, Some(&version), &v.calls, which);
                    }
                    Kind::RequestTimes => {
                        for times in &v.request_time_us {
                            let of_interface = labels(&[
                                ("interface", times.interface),
                                ("name", &model.name),
                                ("version", &version),
                            ]);
                            self.histogram(name, &of_interface, &times.time_us);
                        }
                    }
                    Kind::Counter(value) => self.counter(name, &of_version, value(v)),
                    Kind::Gauge(value) => self.sample(name, &of_version, value(v)),
                    Kind::Histogram(value) => self.histogram(name, &of_version, value(v)),
                    Kind::SequenceCounter(value) => {
                        if let Some(s) = &v.sequences {
                            self.counter(name, &of_version, value(&s.counters));
                        }
                    }
                    Kind::SequenceGauge(value) => {
                        v.sequences.iter().for_each(|s| self.sample(name, &of_version, value(s)));
                    }
                    Kind::SequenceHistogram(value) if v.sequences.is_some() => {
                        self.histogram(name, &of_version, value(v));
                    }
                    _ => {}
                }
            }
        }
    }

    /// What is known of documents.
    fn documents(&mut self, family: &Family, documents: &DocumentMetrics) {
        let name = family.name;
        let of = |meter| documents.all.as_ref().map(|all| all.of(meter)).unwrap_or_default();
        match family.kind {
            Kind::Count(meter) => self.counter(name, "", of(meter).count),
            Kind::Times(meter) => self.histogram(name, "", &of(meter).microseconds()),
            Kind::StoreCounter(value) => self.counter(name, "", value(documents)),
            Kind::StoreGauge(value) => self.sample(name, "", value(documents)),
            Kind::Documents(value) | Kind::DocumentsCounter(value) => {
                for kind in &documents.kinds {
                    let of = labels(&[("cluster", &kind.cluster), ("type", &kind.name)]);
                    match family.kind {
                        Kind::Documents(_) => self.sample(name, &of, value(kind)),
                        _ => self.counter(name, &of, value(kind)),
                    }
                }
            }
            _ => {}
        }
    }

    fn calls(
        &mut self,
        name: &str,
        model: &str,
        version: Option<&str>,
        calls: &[(CallKey, u64, u64)],
        which: usize,
    ) {
        for (key, success, fail) in calls {
            let mut pairs = vec![
                ("api", key.protocol.api()),
                ("interface", key.protocol.interface()),
                ("method", key.method.name()),
                ("name", model),
            ];
            pairs.extend(version.map(|v| ("version", v)));
            self.counter(name, &labels(&pairs), if which == 0 { *success } else { *fail });
        }
    }

    fn counter(&mut self, name: &str, labels: &str, value: u64) {
        match self.dialect {
            Dialect::Prometheus => self.sample(name, labels, value),
            Dialect::OpenMetrics => self.sample(&format!("{name}_total"), labels, value),
        }
    }

    fn sample(&mut self, name: &str, labels: &str, value: u64) {
        let _ = match labels {
            "" => writeln!(self.out, "{name} {value}"),
            labels => writeln!(self.out, "{name}{{{labels}}} {value}"),
        };
    }

    fn histogram(&mut self, name: &str, labels: &str, h: &Histogram) {
        let mut total = 0u64;
        let comma = if labels.is_empty() { "" } else { "," };
        let all = if labels.is_empty() { String::new() } else { format!("{{{labels}}}") };
        for (bound, count) in h.bounds.iter().zip(&h.counts) {
            total += count;
            let _ = match self.dialect {
                Dialect::Prometheus => {
                    writeln!(self.out, "{name}_bucket{{{labels}{comma}le=\"{bound}\"}} {total}")
                }
                // OpenMetrics wants bounds to look like floats.
                Dialect::OpenMetrics => {
                    writeln!(self.out, "{name}_bucket{{{labels}{comma}le=\"{bound:?}\"}} {total}")
                }
            };
        }
        let total: u64 = h.counts.iter().sum();
        let _ = writeln!(self.out, "{name}_bucket{{{labels}{comma}le=\"+Inf\"}} {total}");
        let _ = writeln!(self.out, "{name}_sum{all} {}", h.sum);
        let _ = writeln!(self.out, "{name}_count{all} {total}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, UNIX_EPOCH};

    use stead_node::{
        EmbedderMetrics, ExpiryStats, KeptStats, KindMetrics, Method, ModelMetrics, Protocol,
        RequestTimes, VersionMetrics,
    };

    fn snapshot() -> MetricsSnapshot {
        let histogram = Histogram { bounds: vec![10.0, 18.0], counts: vec![1, 0, 2], sum: 99.5 };
        let key = CallKey { protocol: Protocol::KserveHttp, method: Method::ModelInfer };
        let ready = CallKey { protocol: Protocol::KserveGrpc, method: Method::ModelReady };
        let version = VersionMetrics {
            version: 3,
            calls: vec![(key, 5, 1)],
            request_time_us: vec![RequestTimes { interface: "REST", time_us: histogram.clone() }],
            plan_hits: 4,
            ..VersionMetrics::default()
        };
        MetricsSnapshot {
            models: vec![ModelMetrics {
                name: "a\"b".into(),
                calls: vec![(ready, 2, 0)],
                versions: vec![version],
            }],
            pool_nested: 4,
            documents: Some(DocumentMetrics {
                kinds: vec![KindMetrics {
                    name: "music".into(),
                    cluster: "c".into(),
                    documents: 7,
                    bytes: 100,
                    expiry: ExpiryStats {
                        removed: 5,
                        last_run: Some(UNIX_EPOCH + Duration::from_secs(60)),
                        last_removed: 2,
                    },
                }],
                pending: 2,
                kept: KeptStats { limit: 1 << 20, bytes: 900, asked: 10, found: 7 },
                ..DocumentMetrics::default()
            }),
            embedders: vec![EmbedderMetrics {
                id: "minilm".into(),
                texts: 9,
                cache_hits: 4,
                run_time_us: histogram,
                ..EmbedderMetrics::default()
            }],
            ..MetricsSnapshot::default()
        }
    }

    #[test]
    fn prometheus_text() {
        let text = render(&snapshot(), Dialect::Prometheus, |f| f.default);
        for line in [
            "stead_embedder_texts{embedder=\"minilm\"} 9",
            "stead_embedder_cache_hits{embedder=\"minilm\"} 4",
            "stead_embedder_run_time_us_sum{embedder=\"minilm\"} 99.5",
            "# TYPE ovms_requests_success counter",
            r#"ovms_requests_success{api="KServe",interface="REST",method="ModelInfer",name="a\"b",version="3"} 5"#,
            r#"ovms_requests_fail{api="KServe",interface="REST",method="ModelInfer",name="a\"b",version="3"} 1"#,
            r#"ovms_requests_success{api="KServe",interface="gRPC",method="ModelReady",name="a\"b"} 2"#,
            r#"ovms_request_time_us_bucket{interface="REST",name="a\"b",version="3",le="10"} 1"#,
            r#"ovms_request_time_us_bucket{interface="REST",name="a\"b",version="3",le="+Inf"} 3"#,
            r#"ovms_request_time_us_sum{interface="REST",name="a\"b",version="3"} 99.5"#,
            r#"stead_plan_hits{name="a\"b",version="3"} 4"#,
            "stead_pool_threads 0",
            "stead_pool_nested 4",
            r#"stead_documents{cluster="c",type="music"} 7"#,
            "stead_document_operations_pending 2",
            r#"stead_documents_expired{cluster="c",type="music"} 5"#,
            r#"stead_expiry_last_run_timestamp_seconds{cluster="c",type="music"} 60"#,
            r#"stead_expiry_last_run_documents{cluster="c",type="music"} 2"#,
            "stead_kept_value_bytes 900",
            "stead_kept_value_limit_bytes 1048576",
            "stead_kept_value_hits 7",
            "stead_kept_value_misses 3",
            "stead_queries 0",
            "stead_query_time_us_count 0",
            r#"stead_query_time_us_bucket{le="15.625"} 0"#,
        ] {
            assert!(text.lines().any(|l| l == line), "{line}\nin\n{text}");
        }
        assert!(!text.contains("ovms_infer_req_active"), "optional family");
    }

    #[test]
    fn open_metrics_text() {
        let text = render(&snapshot(), Dialect::OpenMetrics, |f| f.name != "stead_plans");
        assert!(text.contains("ovms_requests_success_total{"));
        assert!(text.contains("stead_documents_expired_total{"));
        assert!(text.contains("le=\"10.0\""));
        assert!(text.contains("ovms_infer_req_active{"));
        assert!(!text.contains("stead_plans{"));
        assert!(text.ends_with("# EOF\n"));
    }
}

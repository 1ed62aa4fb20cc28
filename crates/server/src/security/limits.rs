//! How much one client may ask: so many requests a second, and so many at a time.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// What one client may ask. Without any limit nothing is counted.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct LimitOptions {
    /// Requests a second in the long run.
    pub rate: Option<f64>,
    /// Requests at once after a pause; those of a second without it, and at least one.
    pub burst: Option<u32>,
    /// Requests that are not yet answered.
    pub concurrent: Option<u32>,
}

/// Whom requests are counted for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Client {
    /// Who shows a token, by its name.
    Token(String),
    /// Who shows none, by the address; the network of one household where it is of version 6.
    Address(Option<IpAddr>),
}

impl Client {
    /// A client by its address.
    pub fn at(peer: Option<IpAddr>) -> Client {
        Client::Address(peer.map(|ip| match ip.to_canonical() {
            IpAddr::V6(ip) => IpAddr::V6((u128::from(ip) & !u128::from(u64::MAX)).into()),
            ip => ip,
        }))
    }
}

/// Clients that are remembered; beyond it those are forgotten that ask for nothing and have all that they could save.
const CLIENTS: usize = 1 << 16;

/// The longest that a client is told to wait.
const LONGEST: Duration = Duration::from_secs(3600);

/// Counts the requests of all clients.
#[derive(Debug)]
pub struct Limits {
    rate: Option<(f64, f64)>,
    concurrent: u32,
    clients: Mutex<HashMap<Client, Account>>,
}

#[derive(Debug)]
struct Account {
    /// Requests that may come at once, as of `at`.
    saved: f64,
    at: Instant,
    running: u32,
}

/// A request that is counted until this is dropped.
#[derive(Debug)]
pub struct Permit {
    limits: Arc<Limits>,
    client: Client,
}

impl Limits {
    /// `None` without any limit.
    pub fn new(options: LimitOptions) -> Option<Arc<Limits>> {
        let rate = options.rate.map(|rate| {
            let burst = options.burst.map_or(rate.ceil(), f64::from);
            (rate, burst.max(1.0))
        });
        if rate.is_none() && options.concurrent.is_none() {
            return None;
        }
        let concurrent = options.concurrent.unwrap_or(u32::MAX);
        Some(Arc::new(Limits { rate, concurrent, clients: Mutex::default() }))
    }

    /// Counts a request.
    ///
    /// # Errors
    /// How long to wait before there is room for it.
    pub fn admit(self: &Arc<Limits>, client: Client, now: Instant) -> Result<Permit, Duration> {
        let (rate, most) = self.rate.unwrap_or((0.0, f64::INFINITY));
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        if clients.len() >= CLIENTS && !clients.contains_key(&client) {
            clients.retain(|_, account| account.running > 0 || account.now(now, rate, most) < most);
            if clients.len() >= CLIENTS {
                // Each of them has asked lately: this is no one client's doing.
                return Err(Duration::from_secs(1));
            }
        }
        let account =
            clients.entry(client.clone()).or_insert(Account { saved: most, at: now, running: 0 });
        account.saved = account.now(now, rate, most);
        account.at = now;
        if account.running >= self.concurrent {
            return Err(Duration::from_secs(1));
        }
        if account.saved < 1.0 {
            let wait = Duration::try_from_secs_f64((1.0 - account.saved) / rate);
            return Err(wait.unwrap_or(LONGEST).min(LONGEST));
        }
        account.saved -= 1.0;
        account.running += 1;
        drop(clients);
        Ok(Permit { limits: Arc::clone(self), client })
    }
}

impl Account {
    fn now(&self, now: Instant, rate: f64, most: f64) -> f64 {
        (self.saved + now.saturating_duration_since(self.at).as_secs_f64() * rate).min(most)
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let mut clients = self.limits.clients.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(account) = clients.get_mut(&self.client) {
            account.running -= 1;
            // Nothing is saved up: to forget the client changes nothing.
            if account.running == 0 && self.limits.rate.is_none() {
                clients.remove(&self.client);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Client {
        Client::at(text.parse().ok())
    }

    #[test]
    fn requests_come_at_a_rate_after_a_burst() {
        let options = LimitOptions { rate: Some(2.0), burst: Some(3), concurrent: None };
        let limits = Limits::new(options).unwrap();
        let begin = Instant::now();
        let admit = |client: &str, ms: u64| {
            limits
                .admit(at(client), begin + Duration::from_millis(ms))
                .map(drop)
                .map_err(|w| w.as_millis())
        };
        for (client, ms, expected) in [
            ("10.0.0.1", 0, Ok(())),
            ("10.0.0.1", 0, Ok(())),
            ("10.0.0.1", 0, Ok(())),
            ("10.0.0.1", 0, Err(500)),
            ("10.0.0.2", 0, Ok(())),
            ("10.0.0.1", 250, Err(250)),
            ("10.0.0.1", 500, Ok(())),
            ("10.0.0.1", 500, Err(500)),
            // No more is saved up than the burst.
            ("10.0.0.1", 60_000, Ok(())),
            ("10.0.0.1", 60_000, Ok(())),
            ("10.0.0.1", 60_000, Ok(())),
            ("10.0.0.1", 60_000, Err(500)),
            ("2001:db8::1", 60_000, Ok(())),
            ("2001:db8::2", 60_000, Ok(())),
            ("2001:db8::ffff:0:0:3", 60_000, Ok(())),
            ("2001:db8::4", 60_000, Err(500)),
            ("2001:db8:0:1::1", 60_000, Ok(())),
        ] {
            assert_eq!(admit(client, ms), expected, "{client} at {ms}");
        }
    }

    #[test]
    fn requests_run_at_a_time() {
        let options = LimitOptions { concurrent: Some(2), ..LimitOptions::default() };
        let limits = Limits::new(options).unwrap();
        let now = Instant::now();
        let one = limits.admit(at("10.0.0.1"), now).unwrap();
        let two = limits.admit(at("10.0.0.1"), now).unwrap();
        assert_eq!(limits.admit(at("10.0.0.1"), now).unwrap_err(), Duration::from_secs(1));
        let of_token = limits.admit(Client::Token("a".into()), now).unwrap();
        drop(one);
        drop(limits.admit(at("10.0.0.1"), now).unwrap());
        drop((two, of_token));
        assert!(limits.clients.lock().unwrap().is_empty());
        assert!(Limits::new(LimitOptions::default()).is_none());
    }

    #[test]
    fn clients_are_forgotten_when_there_are_too_many() {
        let options = LimitOptions { rate: Some(1.0), ..LimitOptions::default() };
        let limits = Limits::new(options).unwrap();
        let begin = Instant::now();
        let client = |n: usize| Client::Token(n.to_string());
        for n in 0..CLIENTS {
            drop(limits.admit(client(n), begin).unwrap());
        }
        assert!(limits.admit(client(CLIENTS), begin).is_err());
        assert!(limits.admit(client(CLIENTS), begin + Duration::from_secs(2)).is_ok());
        assert_eq!(limits.clients.lock().unwrap().len(), 1);
    }
}

use super::jwt::{Claims, check};
use super::*;
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use ring::hmac;
use ring::rand::SystemRandom;
use ring::rsa::PublicKeyComponents;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair, RSA_PKCS1_SHA256,
    RsaKeyPair,
};
use serde_json::{Value, json};

const NOW: i64 = 1_800_000_000;

const SECRET: &[u8; 32] = b"a secret of exactly thirty-two b";

fn encoded(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

/// Who makes tokens, with a key of each kind.
struct Issuer {
    p256: EcdsaKeyPair,
    ed25519: Ed25519KeyPair,
    rsa: RsaKeyPair,
    random: SystemRandom,
}

impl Issuer {
    fn new() -> Issuer {
        let random = SystemRandom::new();
        let p256 = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).unwrap();
        let text: String = include_str!("tests/rsa_key.b64").split_whitespace().collect();
        Issuer {
            p256: EcdsaKeyPair::from_pkcs8(
                &ECDSA_P256_SHA256_FIXED_SIGNING,
                p256.as_ref(),
                &random,
            )
            .unwrap(),
            ed25519: Ed25519KeyPair::from_pkcs8(
                Ed25519KeyPair::generate_pkcs8(&random).unwrap().as_ref(),
            )
            .unwrap(),
            rsa: RsaKeyPair::from_pkcs8(&STANDARD.decode(text).unwrap()).unwrap(),
            random,
        }
    }

    fn set(&self) -> Value {
        let point = self.p256.public_key().as_ref();
        let rsa = PublicKeyComponents::<Vec<u8>>::from(self.rsa.public());
        json!({"keys": [
            {"kty": "oct", "kid": "hs", "k": encoded(SECRET)},
            {"kty": "RSA", "kid": "rs", "alg": "RS256", "use": "sig", "n": encoded(rsa.n), "e": encoded(rsa.e)},
            {"kty": "EC", "kid": "es", "crv": "P-256", "x": encoded(&point[1..33]), "y": encoded(&point[33..])},
            {"kty": "OKP", "kid": "ed", "crv": "Ed25519", "x": encoded(self.ed25519.public_key())},
            {"kty": "EC", "kid": "other", "crv": "P-521", "x": "", "y": ""},
        ]})
    }

    fn sign(&self, header: &Value, claims: &Value) -> String {
        let message = format!("{}.{}", encoded(header.to_string()), encoded(claims.to_string()));
        let bytes = message.as_bytes();
        let signature = match header["alg"].as_str().unwrap_or_default() {
            "HS256" => {
                hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, SECRET), bytes).as_ref().to_vec()
            }
            "ES256" => self.p256.sign(&self.random, bytes).unwrap().as_ref().to_vec(),
            "EdDSA" => self.ed25519.sign(bytes).as_ref().to_vec(),
            "RS256" => {
                let mut signature = vec![0; self.rsa.public().modulus_len()];
                self.rsa.sign(&RSA_PKCS1_SHA256, &self.random, bytes, &mut signature).unwrap();
                signature
            }
            _ => Vec::new(),
        };
        format!("{message}.{}", encoded(signature))
    }
}

fn expected() -> Expected {
    Expected {
        issuer: Some("me".into()),
        audience: Some("stead".into()),
        roles_claim: "roles".into(),
    }
}

fn good() -> Value {
    json!({"iss": "me", "sub": "ann", "aud": "stead", "exp": NOW + 60, "roles": "read shop:write other"})
}

#[test]
fn tokens_of_every_algorithm_are_good_and_no_others() {
    let issuer = Issuer::new();
    let keys = Keys::read(&issuer.set().to_string()).unwrap();
    let roles = |header: Value| {
        let token = issuer.sign(&header, &good());
        check(&token, &keys, &expected(), NOW)
            .map(|claims| (claims.grants.role("shop"), claims.grants.role("blog")))
    };
    for (algorithm, kid) in [("HS256", "hs"), ("RS256", "rs"), ("ES256", "es"), ("EdDSA", "ed")] {
        assert_eq!(roles(json!({"alg": algorithm})), Ok((Role::Write, Role::Read)), "{algorithm}");
        assert!(roles(json!({"alg": algorithm, "kid": kid})).is_ok(), "{algorithm}");
        assert!(roles(json!({"alg": algorithm, "kid": "x"})).is_err(), "{algorithm}");
        assert!(roles(json!({"alg": algorithm, "crit": ["b64"]})).is_err(), "{algorithm}");
        // One bit more anywhere.
        let token = issuer.sign(&json!({"alg": algorithm}), &good());
        let (_, signature) = token.rsplit_once('.').unwrap();
        let begin = token.len() - signature.len();
        for at in [2, token.find('.').unwrap() + 5, begin + 3] {
            let mut bytes = token.clone().into_bytes();
            bytes[at] = if bytes[at] == b'A' { b'B' } else { b'A' };
            let changed = String::from_utf8(bytes).unwrap();
            assert!(check(&changed, &keys, &expected(), NOW).is_err(), "{algorithm} at {at}");
        }
    }
    for algorithm in ["none", "HS384", "", "hs256"] {
        assert!(roles(json!({"alg": algorithm})).is_err(), "{algorithm}");
    }
    // The public key of an issuer as the secret of another algorithm.
    let rsa = PublicKeyComponents::<Vec<u8>>::from(issuer.rsa.public());
    let message =
        format!("{}.{}", encoded(r#"{"alg":"HS256","kid":"rs"}"#), encoded(good().to_string()));
    let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, &rsa.n), message.as_bytes());
    let forged = format!("{message}.{}", encoded(tag));
    assert_eq!(check(&forged, &keys, &expected(), NOW), Err("no key has signed it"));
}

#[test]
fn claims_are_checked() {
    let issuer = Issuer::new();
    let keys = Keys::read(&issuer.set().to_string()).unwrap();
    let with = |changes: Value| {
        let mut claims = good();
        for (name, value) in changes.as_object().unwrap() {
            match value {
                Value::Null => drop(claims.as_object_mut().unwrap().remove(name)),
                value => claims[name] = value.clone(),
            }
        }
        check(&issuer.sign(&json!({"alg": "HS256"}), &claims), &keys, &expected(), NOW)
    };
    for (changes, wanted) in [
        (json!({}), Ok(())),
        (json!({"exp": null}), Err("it never expires")),
        (json!({"exp": NOW - 29}), Ok(())),
        (json!({"exp": NOW - 30}), Err("it has expired")),
        (json!({"exp": NOW as f64 + 0.5}), Ok(())),
        (json!({"exp": "tomorrow"}), Err("a time is no number")),
        (json!({"nbf": NOW + 30}), Ok(())),
        (json!({"nbf": NOW + 31}), Err("it is not valid yet")),
        (json!({"iss": "you"}), Err("it is of another issuer")),
        (json!({"iss": null}), Err("it is of another issuer")),
        (json!({"aud": ["x", "stead"]}), Ok(())),
        (json!({"aud": ["x"]}), Err("it is for another audience")),
        (json!({"aud": null}), Err("it is for another audience")),
    ] {
        assert_eq!(with(changes.clone()).map(drop), wanted, "{changes}");
    }
    let role =
        |roles: Value| with(json!({"roles": roles})).map(|claims| claims.grants.role("shop"));
    assert_eq!(role(json!(["read", "shop:admin"])), Ok(Role::Admin));
    assert_eq!(role(json!({"shop": "admin"})), Ok(Role::Anyone));
    assert_eq!(role(Value::Null), Ok(Role::Anyone));
    let any = Expected { issuer: None, audience: None, roles_claim: "scope".into() };
    let token = issuer.sign(&json!({"alg": "EdDSA"}), &json!({"exp": NOW + 1, "scope": "read"}));
    let claims = check(&token, &keys, &any, NOW).unwrap();
    assert_eq!(
        claims,
        Claims { name: " ".to_owned(), grants: Grants::grant("read").into_iter().collect() }
    );
    let meant = issuer.sign(&json!({"alg": "EdDSA"}), &json!({"exp": NOW + 1, "aud": "x"}));
    assert!(check(&meant, &keys, &any, NOW).is_err());
    for text in ["", ".", "..", "a.b.c", "....", &"a".repeat(100_000)] {
        assert!(check(text, &keys, &any, NOW).is_err());
    }
}

#[test]
fn files_are_read_again_or_stay() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tokens.toml");
    let write = |token: &str| {
        let text = format!("[[tokens]]\nname = \"a\"\ntoken = \"{token}\"\nroles = [\"read\"]\n");
        std::fs::write(&path, text).unwrap();
    };
    write("first-first-first");
    let options = AuthOptions { tokens: Some(path.clone()), ..AuthOptions::default() };
    let credentials = Credentials::load(options.clone()).unwrap();
    let is_known = |text: &str| credentials.known(text, NOW).is_some();
    write("second-second-second");
    assert!(is_known("first-first-first"));
    credentials.reload().unwrap();
    assert!(!is_known("first-first-first") && is_known("second-second-second"));
    std::fs::write(&path, "[[tokens]]").unwrap();
    assert!(credentials.reload().is_err() && is_known("second-second-second"));
    let error = Credentials::load(options).unwrap_err().to_string();
    assert!(error.starts_with("--tokens_file: "), "{error}");
}

#[test]
fn a_server_takes_tokens_of_both_kinds() {
    let folder = tempfile::tempdir().unwrap();
    let (issuer, jwks) = (Issuer::new(), folder.path().join("jwks.json"));
    std::fs::write(&jwks, issuer.set().to_string()).unwrap();
    let tokens = folder.path().join("tokens.toml");
    let text = "[[tokens]]\nname = \"a\"\ntoken = \"token.with.dots-in-it\"\nroles = [\"admin\"]\n";
    std::fs::write(&tokens, text).unwrap();
    let options = AuthOptions {
        tokens: Some(tokens),
        jwks: Some(jwks.clone()),
        issuer: Some("me".into()),
        audience: Some("stead".into()),
        ..AuthOptions::default()
    };
    let credentials = Credentials::load(options).unwrap();
    let role = |shown: &str| credentials.known(shown, NOW).map(|known| known.grants.role("shop"));
    let token = issuer.sign(&json!({"alg": "ES256", "kid": "es"}), &good());
    assert_eq!(role(&token), Some(Role::Write));
    assert_eq!(role("token.with.dots-in-it"), Some(Role::Admin));
    assert_eq!(role("x.y.z"), None);
    // Keys of somebody else from now on.
    std::fs::write(&jwks, Issuer::new().set().to_string()).unwrap();
    credentials.reload().unwrap();
    assert_eq!(role(&token), None);
}

// SPDX-License-Identifier: MIT
// Rust: recursion, hash maps, sorting, a thread.
use std::collections::HashMap;

fn fib(n: u64, known: &mut HashMap<u64, u64>) -> u64 {
    if n < 2 {
        return n;
    }
    if let Some(x) = known.get(&n) {
        return *x;
    }
    let r = fib(n - 1, known).wrapping_add(fib(n - 2, known));
    known.insert(n, r);
    r
}

fn rounds(count: u64) -> u64 {
    let mut sum = 0u64;
    for i in 0..count {
        let mut known = HashMap::new();
        sum = sum.wrapping_add(fib(60 + i % 40, &mut known));
        let mut words: Vec<String> = known.values().map(|x| x.to_string()).collect();
        words.sort();
        sum = sum.wrapping_add(words[0].len() as u64);
    }
    sum
}

fn main() {
    let other = std::thread::spawn(|| rounds(6000));
    println!("{}", rounds(6000).wrapping_add(other.join().unwrap()));
}

//! The measured items: read from what the program and the plugin wrote, as a table, and as JSON.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::{SETTINGS, Setting};
use crate::Result;

/// A unit that is occupied for this share of the time is what bounds the item.
const BOUND: f64 = 0.8;
/// Bytes of a line.
const LINE: f64 = 64.0;

/// One piece of work.
pub struct Item {
    pub name: String,
    /// Multiplications or elements, and which.
    pub work: f64,
    pub unit: String,
    counters: BTreeMap<String, f64>,
}

impl Item {
    /// A number that the plugin wrote; what happened never is left out.
    pub fn count(&self, name: &str) -> f64 {
        self.counters.get(name).copied().unwrap_or(0.0)
    }

    pub fn cycles(&self) -> f64 {
        self.count("cycles").max(1.0)
    }

    /// Cycles that a matrix instruction takes; `None` where there are none.
    pub fn cycles_per_dot(&self) -> Option<f64> {
        let dots = self.count("insns.dot");
        (dots > 0.0).then(|| self.cycles() / dots)
    }

    /// The largest of the counters of a kind, without the kind.
    fn largest(&self, kind: &str) -> (&str, f64) {
        let counters = self.counters.iter().filter_map(|(name, count)| Some((name.strip_prefix(kind)?, *count)));
        counters.max_by(|one, other| one.1.total_cmp(&other.1)).unwrap_or(("", 0.0))
    }

    /// The unit that is occupied most, and the share of the time.
    pub fn busiest(&self) -> (&str, f64) {
        let (unit, cycles) = self.largest("busy.");
        (unit, cycles / self.cycles())
    }

    /// The cycles as a multiple of those that moving the data takes at least: lines through the second cache and DRAM, bytes
    /// through the unit of vector loads and stores.
    pub fn times_transfers(&self) -> String {
        let least = ["transfer.l2", "transfer.dram", "busy.vector-memory"].map(|name| self.count(name));
        let least = least.into_iter().fold(0.0, f64::max);
        if least > 0.0 { format!("{:.2}", self.cycles() / least) } else { String::new() }
    }

    /// What bounds the item: a unit that is nearly always occupied, else what instructions wait for most.
    pub fn bound(&self) -> &str {
        match self.busiest() {
            (unit, BOUND..) => unit,
            _ => self.largest("wait.").0,
        }
    }
}

/// Joins the lines `item NAME WORK UNIT` of the program with the plugin's regions, two for each, of which the second counts.
pub fn read(printed: &str, regions: &str) -> Result<Vec<Item>> {
    let lines: Vec<&str> = printed.lines().filter_map(|line| line.strip_prefix("item ")).collect();
    let regions: Vec<&str> = regions.lines().collect();
    if regions.len() != 2 * lines.len() {
        return Err(format!("{} regions were marked for {} items", regions.len(), lines.len()));
    }
    lines.into_iter().zip(regions.chunks(2)).map(|(line, pair)| item(line, pair[1])).collect()
}

fn item(line: &str, region: &str) -> Result<Item> {
    let number = |text: &str| text.parse::<f64>().map_err(|error| format!("{line}: {text}: {error}"));
    let words: Vec<&str> = line.split(' ').collect();
    let [name, work, unit] = words.as_slice() else {
        return Err(format!("the program printed a line that is not understood: item {line}"));
    };
    let pairs = region.split(' ').filter_map(|pair| pair.split_once('='));
    let counters = pairs.map(|(name, count)| Ok((name.to_owned(), number(count)?))).collect::<Result<_>>()?;
    Ok(Item { name: (*name).to_owned(), work: number(work)?, unit: (*unit).to_owned(), counters })
}

/// One line for each item.
pub fn table(items: &[Item], setting: &Setting) -> String {
    let mut text = format!(
        "{:36} {:>10} {:>14} {:>6} {:>6} {:>6}  {:22} {:20} {:>8} {:>8}\n",
        "item", "cycles", "per cycle", "dot", "peak", "moves", "busiest unit", "bound by", "L2 KiB", "DRAM KiB"
    );
    for item in items {
        let rate = format!("{:.2} {}", item.work / item.cycles(), item.unit);
        let dot = item.cycles_per_dot().map_or(String::new(), |cycles| format!("{cycles:.2}"));
        let peak = item.cycles_per_dot().map_or(String::new(), |_| format!("{:.0} %", 100.0 * peak(item, setting)));
        let (unit, share) = item.busiest();
        let busiest = format!("{unit} {:.0} %", 100.0 * share);
        let kib = |name| item.count(name) * LINE / 1024.0;
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "{:36} {:>10} {rate:>14} {dot:>6} {peak:>6} {:>6}  {busiest:22} {:20} {:>8.1} {:>8.1}",
            item.name,
            item.cycles(),
            item.times_transfers(),
            item.bound(),
            kib("memory.l2-lines"),
            kib("memory.dram-lines")
        );
    }
    text
}

/// Multiplications as a share of one matrix instruction a cycle. Those on f16 have half as many.
pub fn peak(item: &Item, setting: &Setting) -> f64 {
    let dot = if item.name.contains("f16") { setting.dot / 2.0 } else { setting.dot };
    item.work / item.cycles() / dot
}

/// All items of all settings.
pub fn json(measured: &[Vec<Item>]) -> String {
    let item = |item: &Item| {
        let counters = item.counters.iter().map(|(name, count)| format!("\"{name}\": {count}")).collect::<Vec<_>>();
        format!(
            "    {{\"name\": \"{}\", \"work\": {}, \"unit\": \"{}\", \"bound\": \"{}\", {}}}",
            item.name,
            item.work,
            item.unit,
            item.bound(),
            counters.join(", ")
        )
    };
    let setting = |(setting, items): (&Setting, &Vec<Item>)| {
        format!("  \"{}\": [\n{}\n  ]", setting.name, items.iter().map(item).collect::<Vec<_>>().join(",\n"))
    };
    format!("{{\n{}\n}}\n", SETTINGS.iter().zip(measured).map(setting).collect::<Vec<_>>().join(",\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const REGIONS: &str =
        "cycles=90\ncycles=20 insns.dot=10 busy.matrix=10 busy.memory=2 wait.latency=4 wait.l2-data=6\n";

    #[test]
    fn the_second_region_of_each_item_counts() {
        let items = read("item loop 1280 mac\nother output\n", REGIONS).unwrap();
        assert_eq!((items.len(), items[0].cycles(), items[0].cycles_per_dot()), (1, 20.0, Some(2.0)));
        assert_eq!((items[0].busiest(), items[0].bound()), (("matrix", 0.5), "l2-data"));
        assert_eq!(peak(&items[0], &SETTINGS[0]), 0.5);
        assert_eq!(items[0].times_transfers(), "");
        let moved =
            read("item loop 1280 mac", &REGIONS.replace("insns.dot", "transfer.l2=16 busy.vector-memory")).unwrap();
        assert_eq!(moved[0].times_transfers(), "1.25");
        let busy = read("item loop 1280 mac", &REGIONS.replace("matrix=10", "matrix=18")).unwrap();
        assert_eq!(busy[0].bound(), "matrix");
        assert!(table(&items, &SETTINGS[0]).contains("64.00 mac"));
        assert!(
            json(&[items]).contains("\"name\": \"loop\", \"work\": 1280, \"unit\": \"mac\", \"bound\": \"l2-data\", ")
        );
    }

    #[test]
    fn regions_without_items_are_refused() {
        assert!(read("item loop 1280 mac", "cycles=1\n").is_err());
        assert!(read("item loop", REGIONS).is_err());
    }
}

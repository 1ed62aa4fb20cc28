//! Charts of lines as SVG, without a library: axes that begin at 0 or have powers of ten, a legend, nothing that moves.

use std::fmt::Write as _;

/// A chart.
pub struct Chart {
    /// What stands above it.
    pub title: String,
    /// The names of the axes.
    pub axes: [String; 2],
    /// Whether the vertical axis has powers of ten, because lines are far from each other; values are positive then.
    pub is_logarithmic: bool,
    /// The names of lines and their points.
    pub lines: Vec<(String, Vec<(f64, f64)>)>,
}

/// The size of the drawing in the units of SVG, and of what stands around it.
const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 360.0;
const LEFT: f64 = 70.0;
const TOP: f64 = 40.0;
const RIGHT: f64 = 250.0;
const BOTTOM: f64 = 50.0;

/// Colours that people who see few of them tell apart (Okabe and Ito, "Color universal design", 2008).
const COLOURS: [&str; 7] =
    ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000"];

impl Chart {
    /// What stands in a drawing, from its upper left corner on.
    fn content(&self) -> String {
        let points = || self.lines.iter().flat_map(|(_, points)| points);
        let right = ceiling(points().map(|p| p.0).fold(0.0, f64::max));
        let heights = || points().map(|p| p.1);
        let vertical = Vertical::new(self.is_logarithmic, heights());
        let x = |value: f64| LEFT + value / right * WIDTH;
        let y = |value: f64| TOP + HEIGHT - vertical.part(value) * HEIGHT;
        let mut svg = format!(
            "<text x=\"{LEFT}\" y=\"22\" font-size=\"16\">{}</text>\n",
            escaped(&self.title)
        );
        for value in vertical.marks() {
            let _ = writeln!(
                svg,
                "<line x1=\"{LEFT}\" y1=\"{0:.1}\" x2=\"{1}\" y2=\"{0:.1}\" stroke=\"#dddddd\"/>\n\
                 <text x=\"{2}\" y=\"{3:.1}\" text-anchor=\"end\">{value}</text>",
                y(value),
                LEFT + WIDTH,
                LEFT - 8.0,
                y(value) + 4.0,
            );
        }
        for step in 0..=5 {
            let value = right / 5.0 * f64::from(step);
            let (at, below) = (x(value), TOP + HEIGHT + 18.0);
            let _ = writeln!(
                svg,
                "<text x=\"{at:.1}\" y=\"{below}\" text-anchor=\"middle\">{value}</text>"
            );
        }
        let _ = writeln!(
            svg,
            "<text x=\"{0}\" y=\"{1}\" text-anchor=\"middle\">{2}</text>\n\
             <text transform=\"translate(16 {3}) rotate(-90)\" text-anchor=\"middle\">{4}</text>",
            LEFT + WIDTH / 2.0,
            TOP + HEIGHT + 40.0,
            escaped(&self.axes[0]),
            TOP + HEIGHT / 2.0,
            escaped(&self.axes[1]),
        );
        for ((name, points), (row, colour)) in
            self.lines.iter().zip(COLOURS.iter().cycle().enumerate())
        {
            let path: Vec<String> =
                points.iter().map(|(a, b)| format!("{:.1},{:.1}", x(*a), y(*b))).collect();
            let (left, line) = (LEFT + WIDTH + 16.0, TOP + 12.0 + 22.0 * row as f64);
            let _ = writeln!(
                svg,
                "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>\n\
                 <line x1=\"{left}\" y1=\"{line}\" x2=\"{}\" y2=\"{line}\" stroke=\"{colour}\" stroke-width=\"2\"/>\n\
                 <text x=\"{}\" y=\"{}\">{}</text>",
                path.join(" "),
                left + 24.0,
                left + 30.0,
                line + 4.0,
                escaped(name)
            );
        }
        svg
    }
}

/// Charts as one drawing, each below the one before.
pub fn stacked(charts: &[Chart]) -> String {
    let (width, each) = (LEFT + WIDTH + RIGHT, TOP + HEIGHT + BOTTOM);
    let height = each * charts.len() as f64;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\" font-size=\"13\">\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"white\"/>\n"
    );
    for (row, chart) in charts.iter().enumerate() {
        let _ = match row {
            0 => write!(svg, "{}", chart.content()),
            row => write!(
                svg,
                "<g transform=\"translate(0 {})\">\n{}</g>\n",
                each * row as f64,
                chart.content()
            ),
        };
    }
    svg + "</svg>\n"
}

/// The vertical axis.
enum Vertical {
    /// From 0 to this.
    Linear(f64),
    /// From a power of ten to another.
    Powers(i32, i32),
}

impl Vertical {
    fn new(is_logarithmic: bool, heights: impl Iterator<Item = f64> + Clone) -> Vertical {
        let top = heights.clone().fold(0.0, f64::max);
        if !is_logarithmic {
            return Vertical::Linear(ceiling(top));
        }
        let low = heights.filter(|h| *h > 0.0).fold(f64::INFINITY, f64::min).min(top.max(1e-9));
        let (low, high) = (low.log10().floor() as i32, top.max(1e-9).log10().ceil() as i32);
        Vertical::Powers(low, high.max(low + 1))
    }

    /// Where a value stands, from 0 to 1.
    fn part(&self, value: f64) -> f64 {
        match *self {
            Vertical::Linear(top) => value / top,
            Vertical::Powers(low, high) => {
                ((value.log10() - f64::from(low)) / f64::from(high - low)).max(0.0)
            }
        }
    }

    /// Values with a line.
    fn marks(&self) -> Vec<f64> {
        match *self {
            Vertical::Linear(top) => (0..=5).map(|step| top / 5.0 * f64::from(step)).collect(),
            Vertical::Powers(low, high) => (low..=high).map(|power| 10f64.powi(power)).collect(),
        }
    }
}

/// A round number that is not less: 1, 2, 2.5 or 5 of a power of ten.
fn ceiling(value: f64) -> f64 {
    let power = 10f64.powf(value.max(1e-9).log10().floor());
    let round = [1.0, 2.0, 2.5, 5.0, 10.0];
    round.iter().map(|r| r * power).find(|r| *r >= value).unwrap_or(value)
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}

#[cfg(test)]
mod tests {
    use super::{Chart, ceiling, stacked};

    #[test]
    fn axes_end_at_round_numbers() {
        for (value, expected) in [(3.0, 5.0), (200.0, 200.0), (0.021, 0.025), (7.0, 10.0)] {
            assert!((ceiling(value) - expected).abs() < 1e-9, "{value}");
        }
    }

    #[test]
    fn lines_stand_in_the_drawing_with_their_names() {
        let lines = vec![("a < b".to_owned(), vec![(0.0, 0.0), (1.0, 5.0)])];
        let axes = ["clients".to_owned(), "ms".to_owned()];
        let mut chart = Chart { title: "t".to_owned(), axes, is_logarithmic: false, lines };
        let svg = stacked(std::slice::from_ref(&chart));
        assert!(svg.contains("a &lt; b") && svg.contains("70.0,400.0 710.0,40.0"), "{svg}");
        chart.is_logarithmic = true;
        chart.lines[0].1 = vec![(0.0, 0.1), (1.0, 10.0)];
        let svg = stacked(&[chart]);
        let has_marks = [">0.1<", ">1<", ">10<"].iter().all(|mark| svg.contains(mark));
        assert!(has_marks && svg.contains("70.0,400.0 710.0,40.0"), "{svg}");
    }
}

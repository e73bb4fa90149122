/** The outline of each type of node, so that types are distinguishable without colour. */

interface Box {
  /** of the centre */
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

interface Shape {
  readonly outline: (box: Box) => string;
  /** how far the outline is inside the box at a distance from its middle, from 0 (middle) to 1 (top or bottom) */
  readonly inset?: (distance: number, box: Box) => number;
  /** the width that the outline needs beside the text */
  readonly margin: number;
}

const edgesOf = ({ x, y, width, height }: Box) => ({
  left: x - width / 2,
  right: x + width / 2,
  top: y - height / 2,
  bottom: y + height / 2,
});

const rect = ({ x, y, width, height }: Box, radius: number, shrink = 0): string =>
  `<rect x="${at(x - width / 2 + shrink)}" y="${at(y - height / 2 + shrink)}" width="${at(width - 2 * shrink)}" height="${at(height - 2 * shrink)}" rx="${at(radius)}"/>`;
const path = (commands: string): string => `<path d="${commands}"/>`;
const polygon = (...points: readonly (readonly [number, number])[]): string =>
  `<polygon points="${points.map(([x, y]) => `${at(x)},${at(y)}`).join(' ')}"/>`;
/** One decimal, so that the file does not depend on the last digits of a computation. */
export const at = (value: number): string => String(Math.round(value * 10) / 10);

const pillInset = (distance: number, { height }: Box): number => (height / 2) * (1 - Math.sqrt(Math.max(0, 1 - distance ** 2)));
const slant = 18;

const pill: Shape = { outline: (box) => rect(box, box.height / 2), inset: pillInset, margin: 36 };
const doublePill: Shape = {
  ...pill,
  outline: (box) => rect(box, box.height / 2) + rect(box, box.height / 2 - 4, 4),
};
const hexagon: Shape = {
  outline: (box) => {
    const { left, right, top, bottom } = edgesOf(box);
    return polygon(
      [left, box.y],
      [left + slant, top],
      [right - slant, top],
      [right, box.y],
      [right - slant, bottom],
      [left + slant, bottom],
    );
  },
  inset: (distance) => slant * distance,
  margin: 2 * slant,
};
const rectangle: Shape = { outline: (box) => rect(box, 3), margin: 20 };

const shapes: Readonly<Record<string, Shape>> = {
  start: pill,
  end: doublePill,
  // An octagon, as a stop sign.
  'end (error)': {
    outline: (box) => {
      const { left, right, top, bottom } = edgesOf(box);
      const cut = 14;
      return polygon(
        [left, top + cut],
        [left + cut, top],
        [right - cut, top],
        [right, top + cut],
        [right, bottom - cut],
        [right - cut, bottom],
        [left + cut, bottom],
        [left, bottom - cut],
      );
    },
    margin: 28,
  },
  condition: hexagon,
  javascript: rectangle,
  // A box with a tab at each side: a call of something else.
  subflow: {
    outline: (box) => {
      const { left, right, top, bottom } = edgesOf(box);
      return rect(box, 3) + path(`M${at(left + 8)} ${at(top)}V${at(bottom)}M${at(right - 8)} ${at(top)}V${at(bottom)}`);
    },
    margin: 36,
  },
  // Slanted: data that goes in or out.
  http: {
    outline: (box) => {
      const { left, right, top, bottom } = edgesOf(box);
      return polygon([left + slant, top], [right, top], [right - slant, bottom], [left, bottom]);
    },
    // Edges end near the middle of a side.
    inset: () => slant / 2,
    margin: 2 * slant + 8,
  },
  // A cylinder, lying on its side so that edges meet its ends.
  dataQuery: {
    outline: (box) => {
      const { left, right, top, bottom } = edgesOf(box);
      const radius = 9;
      const arc = `A${radius} ${at(box.height / 2)} 0 0 1`;
      return (
        path(
          `M${at(left + radius)} ${at(top)}H${at(right - radius)}${arc} ${at(right - radius)} ${at(bottom)}H${at(left + radius)}${arc} ${at(left + radius)} ${at(top)}Z`,
        ) + path(`M${at(right - radius)} ${at(top)}A${radius} ${at(box.height / 2)} 0 0 0 ${at(right - radius)} ${at(bottom)}`)
      );
    },
    margin: 40,
  },
  // An hourglass at rest: both sides drawn in.
  delay: {
    outline: (box) => {
      const { left, right, top, bottom } = edgesOf(box);
      const waist = 8;
      return polygon([left, top], [right, top], [right - waist, box.y], [right, bottom], [left, bottom], [left + waist, box.y]);
    },
    inset: (distance) => 8 * (1 - distance),
    margin: 32,
  },
  // A flag: something arrives.
  signal: {
    outline: (box) => {
      const { left, right, top, bottom } = edgesOf(box);
      return polygon([left, top], [right, top], [right, bottom], [left, bottom], [left + slant, box.y]);
    },
    inset: (distance) => slant * (1 - distance),
    margin: 44,
  },
  // A page with a folded corner.
  lens: {
    outline: (box) => {
      const { left, right, top, bottom } = edgesOf(box);
      const fold = 12;
      return (
        polygon([left, top], [right - fold, top], [right, top + fold], [right, bottom], [left, bottom]) +
        path(`M${at(right - fold)} ${at(top)}V${at(top + fold)}H${at(right)}`)
      );
    },
    margin: 32,
  },
  // A pile: many of the same.
  loop: {
    outline: (box) =>
      rect({ ...box, x: box.x + 4, y: box.y - 4, width: box.width - 8, height: box.height - 8 }, 8) +
      rect({ ...box, x: box.x - 2, y: box.y + 2, width: box.width - 4, height: box.height - 4 }, 8),
    margin: 28,
  },
};

export const shapeOf = (type: string): Shape => shapes[type] ?? rectangle;

import type { Construct } from 'constructs';

export interface Range {
  readonly name: string;
  /** absent: the default applies, which is in range */
  readonly value: number | undefined;
  readonly from: number;
  readonly to: number;
}

/** Fails the synthesis with one message for each whole number that is out of range. */
export function checkRanges(construct: Construct, ranges: readonly Range[]): void {
  construct.node.addValidation({ validate: () => ranges.flatMap(finding) });
}

function finding({ name, value, from, to }: Range): readonly string[] {
  if (value === undefined || (Number.isInteger(value) && value >= from && value <= to)) return [];
  return [`${name} must be a whole number from ${from} to ${to}, but is ${value}`];
}

export interface Length {
  readonly name: string;
  /** called at the end of the synthesis */
  readonly textOf: () => string;
  readonly maxBytes: number;
}

/** Fails the synthesis if a text exceeds its maximum size. */
export function checkLength(construct: Construct, { name, textOf, maxBytes }: Length): void {
  construct.node.addValidation({
    validate: () => {
      const bytes = Buffer.byteLength(textOf());
      return bytes > maxBytes ? [`${name} may have at most ${maxBytes} bytes as JSON, but have ${bytes}`] : [];
    },
  });
}

import type { Construct } from 'constructs';

export interface Range {
  readonly name: string;
  /** absent: the default stands, which is in range */
  readonly value: number | undefined;
  readonly from: number;
  readonly to: number;
}

/** Makes the synthesis fail with one sentence for each whole number that is out of its range. */
export function checkRanges(construct: Construct, ranges: readonly Range[]): void {
  construct.node.addValidation({ validate: () => ranges.flatMap(finding) });
}

function finding({ name, value, from, to }: Range): readonly string[] {
  if (value === undefined || (Number.isInteger(value) && value >= from && value <= to)) return [];
  return [`${name} must be a whole number from ${from} to ${to}, and is ${value}`];
}

export interface Length {
  readonly name: string;
  readonly text: string;
  readonly maxBytes: number;
}

/** The same for a text that is too long for where it goes. */
export function checkLength(construct: Construct, { name, text, maxBytes }: Length): void {
  const bytes = Buffer.byteLength(text);
  construct.node.addValidation({
    validate: () => (bytes > maxBytes ? [`${name} must be at most ${maxBytes} bytes of JSON, and have ${bytes}`] : []),
  });
}

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
  readonly mostBytes: number;
}

/** The same for texts that are too long for where they go. */
export function checkLengths(construct: Construct, lengths: readonly Length[]): void {
  construct.node.addValidation({
    validate: () =>
      lengths
        .map(({ name, text, mostBytes }) => ({ name, mostBytes, bytes: Buffer.byteLength(text) }))
        .filter(({ bytes, mostBytes }) => bytes > mostBytes)
        .map(({ name, bytes, mostBytes }) => `${name} must be at most ${mostBytes} bytes of JSON, and has ${bytes}`),
  });
}

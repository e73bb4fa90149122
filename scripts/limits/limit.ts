/** What a limit is: its value with a unit, what one limit counts for, and what happens at it. docs/LIMITS.md is generated from these. */

type Unit = 'number' | 'bytes' | 'characters' | 'levels' | 'percent' | 'ms';

interface Quantity {
  readonly amount: number;
  readonly unit: Unit;
}

export interface Value {
  readonly quantities: readonly Quantity[];
  /** as the document shows it */
  readonly text: string;
}

export interface Limit {
  readonly name: string;
  readonly value: Value;
  /** what the limit counts for, such as `run`; default: that of its section */
  readonly per?: string;
  /** what happens at the limit, with its error code */
  readonly atLimit: string;
  /** files that define the value */
  readonly definedIn: readonly [string, ...string[]];
  /** the page of AWS, where the value is a quota of AWS */
  readonly quota?: string;
}

export interface LimitSection {
  readonly title: string;
  readonly intro?: string;
  readonly per: string;
  readonly limits: readonly Limit[];
  /** paragraphs after the table */
  readonly outro?: readonly string[];
}

export interface LimitPart {
  readonly title: string;
  readonly intro: string;
  readonly sections: readonly LimitSection[];
}

export const minute = 60_000;
export const hour = 60 * minute;
export const day = 24 * hour;

const shown = (amount: number): string => amount.toLocaleString('en-US', { maximumFractionDigits: 3 });
const valueOf = (amount: number, unit: Unit, text: string): Value => ({ quantities: [{ amount, unit }], text });

/** @param noun what is counted, where the name of the limit does not say it */
export const count = (amount: number, noun?: string): Value =>
  valueOf(amount, 'number', noun === undefined ? shown(amount) : `${shown(amount)} ${noun}`);
export const bytes = (amount: number): Value => valueOf(amount, 'bytes', `${shown(amount)} bytes`);
export const characters = (amount: number): Value => valueOf(amount, 'characters', `${shown(amount)} characters`);
export const levels = (amount: number): Value => valueOf(amount, 'levels', `${shown(amount)} levels`);
export const percent = (amount: number): Value => valueOf(amount, 'percent', `${shown(amount)} %`);

/** Each takes milliseconds and shows them in its own unit. */
export const milliseconds = (ms: number): Value => valueOf(ms, 'ms', `${shown(ms)} ms`);
export const seconds = (ms: number): Value => valueOf(ms, 'ms', `${shown(ms / 1_000)} s`);
export const minutes = (ms: number): Value => valueOf(ms, 'ms', `${shown(ms / minute)} min`);
export const hours = (ms: number): Value => valueOf(ms, 'ms', `${shown(ms / hour)} h`);
export const days = (ms: number): Value => valueOf(ms, 'ms', ms === day ? '1 day' : `${shown(ms / day)} days`);

/** A value of several quantities: "50, at most 100". */
export const phrase = (texts: TemplateStringsArray, ...values: readonly Value[]): Value => ({
  quantities: values.flatMap(({ quantities }) => quantities),
  text: String.raw({ raw: texts }, ...values.map(({ text }) => text)),
});

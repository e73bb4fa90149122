/** One thing that was looked at, and what all of them come to. */

export interface Check {
  /** for programs too: it keeps its meaning */
  readonly name: string;
  readonly verdict: 'pass' | 'warn' | 'fail';
  readonly message: string;
}

export const checked = (verdict: Check['verdict'], name: string, message: string): Check => ({ name, verdict, message });

export const lineOf = ({ name, verdict, message }: Check): string => `[${verdict.toUpperCase()}] ${name}: ${message}`;

export const worstOf = (checks: readonly Check[]): Check['verdict'] =>
  (['fail', 'warn'] as const).find((verdict) => checks.some((check) => check.verdict === verdict)) ?? 'pass';

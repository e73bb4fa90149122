/** The result of one check, and the overall result of several. */

export interface Check {
  /** a stable code for programs */
  readonly name: string;
  readonly result: 'pass' | 'warn' | 'fail';
  readonly message: string;
}

export const createCheck = (result: Check['result'], name: string, message: string): Check => ({ name, result, message });

export const formatCheck = ({ name, result, message }: Check): string => `[${result.toUpperCase()}] ${name}: ${message}`;

export const worstResult = (checks: readonly Check[]): Check['result'] =>
  (['fail', 'warn'] as const).find((result) => checks.some((check) => check.result === result)) ?? 'pass';

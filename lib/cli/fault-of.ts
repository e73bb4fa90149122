/** What an error comes to: its words for people, its fields for programs, and the exit code. */
import { ComputeClientError, ScopeComputeClientError, TransportComputeClientError } from '../client/errors.ts';
import { errorCatalogue } from '../api/errors.ts';
import { type ExitCode, exitCodes } from './command.ts';
import type { PrintedError } from './screen.ts';

export function faultOf(trouble: unknown): { readonly exitCode: ExitCode; readonly error: PrintedError } {
  if (trouble instanceof TransportComputeClientError && trouble.kind !== 'answer') {
    const why = trouble.cause instanceof Error ? ` (${reasonOf(trouble.cause)})` : '';
    return {
      exitCode: exitCodes.unreachable,
      error: { code: 'unreachable', message: `${trouble.message}${why}`, correlationId: trouble.correlationId },
    };
  }
  if (trouble instanceof ComputeClientError) return { exitCode: exitCodes.failed, error: refusal(trouble) };
  return { exitCode: exitCodes.failed, error: { code: 'unexpected', message: messageOf(trouble) } };
}

const refusal = (trouble: ComputeClientError): PrintedError => {
  const { status, code, message, correlationId, errors } = trouble;
  const required = trouble instanceof ScopeComputeClientError ? trouble.required : undefined;
  const recovery = recoveryOf(code);
  const lines = [
    message,
    ...(required === undefined ? [] : [`the key needs the scope ${required}`]),
    ...(errors ?? []).map(({ place, message: said }) => `  ${place}: ${said}`),
    ...(recovery === undefined || errors !== undefined ? [] : [recovery]),
  ];
  return {
    code: code ?? 'unknown_answer',
    message: lines.join('\n'),
    status,
    correlationId,
    ...(required === undefined ? {} : { required }),
    ...(errors === undefined ? {} : { errors }),
  };
};

const recoveryOf = (code: string | undefined): string | undefined => {
  const entry = Object.entries(errorCatalogue).find(([name]) => name === code)?.[1];
  return entry !== undefined && 'recovery' in entry ? entry.recovery : undefined;
};

/** fetch says only that it failed; what failed is its cause. */
const reasonOf = (cause: Error): string => (cause.cause instanceof Error ? messageOf(cause.cause) : messageOf(cause));

/** @returns the innermost words: an error that gathers others has none of its own */
export const messageOf = (trouble: unknown): string => {
  if (!(trouble instanceof Error)) return String(trouble);
  if (trouble.message !== '') return trouble.message;
  return 'code' in trouble ? String(trouble.code) : trouble.name;
};

/** Turns an error into the printed error (message and fields) and the exit code. */
import { defined } from '../base/defined.ts';
import { ComputeClientError, ScopeComputeClientError, TransportComputeClientError } from '../client/errors.ts';
import { errorCatalogue } from '../api/errors.ts';
import { type ExitCode, exitCodes } from './command.ts';
import type { PrintedError } from './output.ts';

export function describeError(error: unknown): { readonly exitCode: ExitCode; readonly error: PrintedError } {
  if (error instanceof TransportComputeClientError && error.kind !== 'response') {
    const reason = error.cause instanceof Error ? ` (${causeMessage(error.cause)})` : '';
    return {
      exitCode: exitCodes.unreachable,
      error: { code: 'unreachable', message: `${error.message}${reason}`, correlationId: error.correlationId },
    };
  }
  if (error instanceof ComputeClientError) return { exitCode: exitCodes.failed, error: describeClientError(error) };
  return { exitCode: exitCodes.failed, error: { code: 'unexpected', message: messageOf(error) } };
}

const describeClientError = (error: ComputeClientError): PrintedError => {
  const { status, code, message, correlationId, errors } = error;
  const required = error instanceof ScopeComputeClientError ? error.required : undefined;
  const recovery = recoveryFor(code);
  const lines = [
    message,
    ...(required === undefined ? [] : [`the key needs the scope ${required}`]),
    ...(errors ?? []).map(({ pointer, message: detail }) => `  ${pointer}: ${detail}`),
    ...(recovery === undefined || errors !== undefined ? [] : [recovery]),
  ];
  return defined({
    code: code ?? 'unknown_response',
    message: lines.join('\n'),
    status,
    correlationId,
    required,
    errors,
  });
};

const recoveryFor = (code: string | undefined): string | undefined => {
  const entry = Object.entries(errorCatalogue).find(([name]) => name === code)?.[1];
  return entry !== undefined && 'recovery' in entry ? entry.recovery : undefined;
};

/** The message of fetch says only that it failed. The reason is the innermost cause. */
const causeMessage = (cause: Error): string => (cause.cause instanceof Error ? messageOf(cause.cause) : messageOf(cause));

/** An aggregate error may have an empty message; then its code or name is used. */
export const messageOf = (error: unknown): string => {
  if (!(error instanceof Error)) return String(error);
  if (error.message !== '') return error.message;
  return 'code' in error ? String(error.code) : error.name;
};

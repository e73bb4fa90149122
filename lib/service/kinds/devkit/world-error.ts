/** How a call of the World is refused: by a name that the client turns into an error class of the Workflow DevKit. */
import type { Refused, WorldRefusal } from '../../../engine/devkit/decide.ts';
import { defined } from '../../../base/defined.ts';

export type WorldErrorCode =
  | WorldRefusal
  | 'event_not_found'
  | 'cursor_invalid'
  | 'invalid_request'
  | 'deployment_not_found'
  | 'deployment_not_verified'
  | 'workflow_not_found'
  | 'payload_too_large'
  | 'upload_not_found'
  | 'not_found'
  | 'unavailable';

interface OtherError {
  readonly kind: 'refused';
  readonly code: Exclude<WorldErrorCode, 'invalid_request'>;
  readonly message: string;
  readonly retryAfterSeconds?: number;
}

interface InvalidRequest {
  readonly kind: 'refused';
  readonly code: 'invalid_request';
  /** of the wrong part, into the body of the request */
  readonly pointer: string;
  readonly message: string;
}

export type WorldError = InvalidRequest | OtherError;

export const refused = (code: OtherError['code'], message: string): OtherError => ({ kind: 'refused', code, message });

/** @param pointer JSON pointer into the body of the request */
export const invalid = (pointer: string, message: string): InvalidRequest => ({
  kind: 'refused',
  code: 'invalid_request',
  pointer,
  message,
});

export const errorOf = ({ code, message, retryAfterSeconds }: Refused): OtherError =>
  defined({ kind: 'refused', code, message, retryAfterSeconds });

export const noRun: OtherError = refused('run_not_found', 'the run does not exist');

export interface Answer<Value> {
  readonly kind: 'answered';
  readonly value: Value;
}

export const answer = <Value>(value: Value): Answer<Value> => ({ kind: 'answered', value });

export type WorldResult<Value> = Answer<Value> | WorldError;

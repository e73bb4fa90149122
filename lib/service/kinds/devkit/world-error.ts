/** How a call of the World is refused: by a name that the client turns into an error class of the Workflow DevKit. */
import type { Refused, WorldRefusal } from '../../../engine/devkit/decide.ts';
import { defined } from '../../../base/defined.ts';

export type WorldErrorCode =
  | WorldRefusal
  | 'event_not_found'
  | 'cursor_invalid'
  | 'invalid_request'
  | 'deployment_not_found'
  | 'payload_too_large'
  | 'upload_not_found'
  | 'not_found'
  | 'unavailable';

export interface WorldError {
  readonly kind: 'refused';
  readonly code: WorldErrorCode;
  readonly message: string;
  readonly retryAfterSeconds?: number;
}

export const refused = (code: WorldErrorCode, message: string): WorldError => ({ kind: 'refused', code, message });

export const errorOf = ({ code, message, retryAfterSeconds }: Refused): WorldError =>
  defined({ kind: 'refused', code, message, retryAfterSeconds });

export const noRun: WorldError = refused('run_not_found', 'the run does not exist');

export interface Answer<Value> {
  readonly kind: 'answered';
  readonly value: Value;
}

export const answer = <Value>(value: Value): Answer<Value> => ({ kind: 'answered', value });

export type WorldResult<Value> = Answer<Value> | WorldError;

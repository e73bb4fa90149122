/** What keeps the backend from its table, in words for the person who set it up. */
import type { SettingsError } from '../../aws/settings-error.ts';

/** `unreachable`: the table did not answer, however often it was asked while connecting */
export type BackendErrorCode = SettingsError['code'] | 'unreachable';

/** A setting is wrong: the same call will be refused again until it is corrected. */
export class BackendError extends Error {
  override readonly name = 'BackendError';
  readonly code: BackendErrorCode;

  constructor(code: BackendErrorCode, message: string, options?: { cause: unknown }) {
    super(message, options);
    this.code = code;
  }
}

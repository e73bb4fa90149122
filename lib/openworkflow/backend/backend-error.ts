/** Why the backend cannot use its table, for the person who configured it. */
import type { SettingsError } from '../../aws/settings-error.ts';

/** `unreachable`: the table did not respond to any attempt to connect */
export type BackendErrorCode = SettingsError['code'] | 'unreachable';

/** A setting is wrong: the same call fails until it is corrected. */
export class BackendError extends Error {
  override readonly name = 'BackendError';
  readonly code: BackendErrorCode;

  constructor(code: BackendErrorCode, message: string, options?: { cause: unknown }) {
    super(message, options);
    this.code = code;
  }
}

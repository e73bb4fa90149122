/** What keeps the backend from its table, in words for the person who set it up. */
import type { SettingsFault } from '../../aws/settings-fault.ts';

/** `unreachable`: the table did not answer, however often it was asked while connecting */
export type BackendFaultCode = SettingsFault['code'] | 'unreachable';

/** A setting is wrong: the same call will be refused again until it is corrected. */
export class BackendFault extends Error {
  override readonly name = 'BackendFault';
  readonly code: BackendFaultCode;

  constructor(code: BackendFaultCode, message: string, options?: { cause: unknown }) {
    super(message, options);
    this.code = code;
  }
}

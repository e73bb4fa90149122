/** The calls of deployed apps of the Workflow DevKit to their World. A thread sends them to the process that runs it. */
import type { Scope } from '../engine/ids.ts';
import type { JsonValue } from '../engine/json.ts';

export type WorldAnswer =
  /** The text of JSON with tags for bytes and times: an answer may have all events of a run, and a thread takes a text at once. */
  | { readonly kind: 'answered'; readonly json: string }
  | {
      readonly kind: 'refused';
      /** as over HTTP */
      readonly status: number;
      readonly code: string;
      readonly message: string;
      /** in seconds */
      readonly retryAfter?: number;
    };

export interface WorldCalls {
  /**
   * @param method untrusted, such as `events.create`; an unknown one is refused
   * @param body untrusted; JSON with tags for bytes and times
   * @throws Unavailable when the stores cannot be reached now
   */
  call(scope: Scope, method: string, body: JsonValue): Promise<WorldAnswer>;
}

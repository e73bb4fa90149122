/** Sends messages to open WebSocket connections. */
import type { ConnectionId } from '../engine/ids.ts';

export interface Posts {
  /**
   * Sends a text of at most 128 KB, with a time limit. `gone`: the connection is closed.
   * @throws Unavailable if the connection did not accept the text in time; the caller may send it again
   */
  post(id: ConnectionId, text: string): Promise<'posted' | 'gone'>;
  /** Closes the connection if it is open. */
  close(id: ConnectionId): Promise<void>;
}

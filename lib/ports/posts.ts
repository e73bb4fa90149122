/** Sending to open sockets. */
import type { ConnectionId } from '../engine/ids.ts';

export interface Posts {
  /**
   * Sends a text of at most 128 KB within a bounded time; `gone`: there is no such socket any more.
   * @throws Unavailable where it was not taken in time: the same may be sent again
   */
  post(id: ConnectionId, text: string): Promise<'posted' | 'gone'>;
  /** Closes the socket, where there is one. */
  close(id: ConnectionId): Promise<void>;
}

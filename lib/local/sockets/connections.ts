/** The open sockets by connection id. Each closes when it has been idle or open for too long. */
import { randomBytes } from 'node:crypto';
import type { WebSocket } from 'ws';
import { socketLimits } from '../limits.ts';

interface OpenSocket {
  readonly id: string;
  readonly openedAt: Date;
  /** time of the last message in either direction */
  readonly activeAt: Date;
}

export interface Connections {
  add(id: string, socket: WebSocket): void;
  find(id: string): OpenSocket | undefined;
  /** Resets the idle time: a message came from the client. */
  touch(id: string): void;
  /** Resolves when the text has left this process, which never happens if the client reads nothing. False: the socket does not exist. */
  send(id: string, text: string): Promise<boolean>;
  close(id: string, code: number): boolean;
  closeAll(): void;
}

/** Base64 with padding, as API Gateway's ids. */
export const newConnectionId = (): string => randomBytes(11).toString('base64');

interface Entry {
  readonly socket: WebSocket;
  readonly openedAt: Date;
  activeAt: Date;
  readonly idleTimer: NodeJS.Timeout;
  readonly lifetimeTimer: NodeJS.Timeout;
}

/** The close code of API Gateway for a socket whose time has ended. */
const goingAway = 1_001;

export function createConnections(
  limits: { readonly idleMs: number; readonly connectionMs: number } = socketLimits,
): Connections {
  const entries = new Map<string, Entry>();
  const touch = (id: string): void => {
    const entry = entries.get(id);
    if (entry === undefined) return;
    entry.activeAt = new Date();
    entry.idleTimer.refresh();
  };
  const close = (id: string, code: number): boolean => {
    const entry = entries.get(id);
    if (entry === undefined) return false;
    entry.socket.close(code);
    // A client that reads nothing never completes the closing handshake.
    setTimeout(() => entry.socket.terminate(), 1_000).unref();
    return true;
  };
  return {
    add(id, socket) {
      const openedAt = new Date();
      const idleTimer = setTimeout(() => close(id, goingAway), limits.idleMs).unref();
      const lifetimeTimer = setTimeout(() => close(id, goingAway), limits.connectionMs).unref();
      entries.set(id, { socket, openedAt, activeAt: openedAt, idleTimer, lifetimeTimer });
      socket.on('close', () => {
        clearTimeout(idleTimer);
        clearTimeout(lifetimeTimer);
        entries.delete(id);
      });
    },
    find(id) {
      const entry = entries.get(id);
      return entry === undefined ? undefined : { id, openedAt: entry.openedAt, activeAt: entry.activeAt };
    },
    touch,
    async send(id, text) {
      const entry = entries.get(id);
      if (entry === undefined || entry.socket.readyState !== entry.socket.OPEN) return false;
      const isSent = await new Promise<boolean>((resolve) =>
        entry.socket.send(text, (error) => resolve(error === undefined || error === null)),
      );
      if (isSent) touch(id);
      return isSent;
    },
    close,
    closeAll() {
      for (const { socket } of entries.values()) socket.terminate();
    },
  };
}

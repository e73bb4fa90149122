/** The listening sockets of a program's processes, as the kernel reports them, and ports that have none. */
import { once } from 'node:events';
import { readFileSync, readdirSync, readlinkSync } from 'node:fs';
import { createServer } from 'node:net';
import * as z from 'zod';

const read = (path: string): string => {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    // The process has exited meanwhile, or the kernel has no such table.
    return '';
  }
};

/** The process and its descendants, also those with a new parent. */
export function processTree(pid: number): readonly number[] {
  const parents = new Map<number, number>();
  for (const name of readdirSync('/proc').filter((entry) => /^\d+$/.test(entry))) {
    const parent = /\) \S (\d+) /.exec(read(`/proc/${name}/stat`))?.[1];
    if (parent !== undefined) parents.set(Number(name), Number(parent));
  }
  const isBelow = (child: number): boolean => {
    if (child === pid) return true;
    const parent = parents.get(child);
    return parent !== undefined && parent > 0 && isBelow(parent);
  };
  return [...parents.keys()].filter(isBelow);
}

export const argumentsOf = (pid: number): string => read(`/proc/${pid}/cmdline`).replaceAll('\0', ' ');

function socketsOf(pids: readonly number[]): ReadonlySet<string> {
  const inodes = new Set<string>();
  for (const pid of pids) {
    try {
      for (const fd of readdirSync(`/proc/${pid}/fd`)) {
        const inode = /^socket:\[(\d+)\]$/.exec(linkOf(`/proc/${pid}/fd/${fd}`))?.[1];
        if (inode !== undefined) inodes.add(inode);
      }
    } catch {
      // It has exited.
    }
  }
  return inodes;
}

const linkOf = (path: string): string => {
  try {
    return readlinkSync(path);
  } catch {
    return '';
  }
};

export interface Listening {
  /** in the kernel's hexadecimal form: 0100007F is 127.0.0.1 */
  readonly tcp: readonly { readonly address: string; readonly port: number }[];
  /** paths; an abstract name begins with @ */
  readonly unix: readonly string[];
}

const tcpListen = '0A';
const accepting = 0x10000;

export function listeningOf(pids: readonly number[]): Listening {
  const own = socketsOf(pids);
  const lines = (table: string): readonly (readonly string[])[] =>
    read(`/proc/net/${table}`)
      .split('\n')
      .slice(1)
      .map((line) => line.trim().split(/\s+/));
  const tcp = ['tcp', 'tcp6']
    .flatMap(lines)
    .filter(([, , , state, , , , , , inode]) => state === tcpListen && own.has(inode ?? ''))
    .map(([, local = '']) => {
      const [address = '', port = '0'] = local.split(':');
      return { address, port: Number.parseInt(port, 16) };
    });
  const unix = lines('unix')
    .filter(([, , , flags = '0', , , inode]) => (Number.parseInt(flags, 16) & accepting) !== 0 && own.has(inode ?? ''))
    .map((parts) => parts[7] ?? '');
  return { tcp, unix };
}

/** A port that nothing listens on at the moment. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = z.object({ port: z.number() }).parse(server.address());
  server.close();
  await once(server, 'close');
  return port;
}

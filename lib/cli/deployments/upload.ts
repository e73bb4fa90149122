/** Brings an archive to the address that the service gave. That address is a secret for as long as it works, so it is never told. */
import { CliFault, type Shell, exitCodes } from '../command.ts';

export interface Upload {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}

const tries = 3;
const firstPauseMs = 500;

export async function upload(
  shell: Pick<Shell, 'fetch' | 'sleep' | 'signal'>,
  { method, url, headers }: Upload,
  archive: Uint8Array<ArrayBuffer>,
): Promise<void> {
  for (let triesBefore = 0; ; triesBefore += 1) {
    const isLast = triesBefore === tries - 1;
    try {
      const response = await shell.fetch(url, {
        method,
        headers: { ...headers },
        body: archive,
        signal: shell.signal,
        redirect: 'manual',
      });
      if (response.ok) return;
      const said = (await response.text()).match(/<Code>(\w+)<\/Code>/)?.[1] ?? '';
      const isPassing = response.status >= 500 || response.status === 429;
      if (!isPassing || isLast)
        throw new CliFault(
          'upload_refused',
          `The upload was refused: ${[response.status, said].join(' ').trim()}. Deploy again.`,
        );
    } catch (trouble) {
      shell.signal.throwIfAborted();
      if (trouble instanceof CliFault) throw trouble;
      if (isLast) throw new CliFault('unreachable', 'The upload got no answer. Deploy again.', exitCodes.unreachable);
    }
    await shell.sleep(firstPauseMs * 2 ** triesBefore, shell.signal);
    shell.signal.throwIfAborted();
  }
}

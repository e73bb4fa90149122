/** Brings an archive to the address that the service gave. That address is a secret for as long as it works, so it is never told. */
import { CliError, type CommandContext, exitCodes } from '../command.ts';

export interface Upload {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}

const maxAttempts = 3;
const firstPauseMs = 500;

export async function upload(
  context: Pick<CommandContext, 'fetch' | 'sleep' | 'signal'>,
  { method, url, headers }: Upload,
  archive: Uint8Array<ArrayBuffer>,
): Promise<void> {
  for (let previousAttempts = 0; ; previousAttempts += 1) {
    const isLastAttempt = previousAttempts === maxAttempts - 1;
    try {
      const response = await context.fetch(url, {
        method,
        headers: { ...headers },
        body: archive,
        signal: context.signal,
        redirect: 'manual',
      });
      if (response.ok) return;
      const errorCode = (await response.text()).match(/<Code>(\w+)<\/Code>/)?.[1] ?? '';
      const isTransient = response.status >= 500 || response.status === 429;
      if (!isTransient || isLastAttempt)
        throw new CliError(
          'upload_refused',
          `The upload was refused: ${[response.status, errorCode].join(' ').trim()}. Deploy again.`,
        );
    } catch (error) {
      context.signal.throwIfAborted();
      if (error instanceof CliError) throw error;
      if (isLastAttempt) throw new CliError('unreachable', 'The upload got no answer. Deploy again.', exitCodes.unreachable);
    }
    await context.sleep(firstPauseMs * 2 ** previousAttempts, context.signal);
    context.signal.throwIfAborted();
  }
}

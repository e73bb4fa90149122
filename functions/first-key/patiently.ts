/** A role that was only just made is unknown to the services for some seconds: they deny what it allows. */
const roundMs = 5_000;
const mostRounds = 20;

const isDenied = (trouble: unknown): boolean =>
  trouble instanceof Error && /^(AccessDenied|UnrecognizedClient|InvalidClientTokenId)/.test(trouble.name);

/** Asks again for as long as it is denied, up to a minute and a half. */
export async function patiently<Answer>(ask: () => Promise<Answer>, sleep: (ms: number) => Promise<unknown>): Promise<Answer> {
  for (let round = 1; ; round += 1) {
    try {
      return await ask();
    } catch (trouble) {
      if (!isDenied(trouble) || round === mostRounds) throw trouble;
      await sleep(roundMs);
    }
  }
}

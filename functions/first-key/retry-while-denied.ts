/** A role that was only just made is unknown to the services for some seconds: they deny what it allows. */
const retryIntervalMs = 5_000;
const maxAttempts = 20;

const isDenied = (error: unknown): boolean =>
  error instanceof Error && /^(AccessDenied|UnrecognizedClient|InvalidClientTokenId)/.test(error.name);

/** Asks again for as long as it is denied, up to a minute and a half. */
export async function retryWhileDenied<Result>(
  operation: () => Promise<Result>,
  sleep: (ms: number) => Promise<unknown>,
): Promise<Result> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await operation();
    } catch (error) {
      if (!isDenied(error) || attempt === maxAttempts) throw error;
      await sleep(retryIntervalMs);
    }
  }
}

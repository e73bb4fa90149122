/**
 * A thread that answers requests one after another, each with one message. Tests and commands run their simulations in such
 * threads.
 */
import { Worker } from 'node:worker_threads';
import type * as z from 'zod';

export class RequestThread<Answer> {
  readonly #thread: Worker;
  readonly #schema: z.ZodType<Answer>;

  constructor(file: URL, schema: z.ZodType<Answer>) {
    this.#thread = new Worker(file);
    this.#schema = schema;
  }

  /** @throws what the thread fell over, or that it ended without an answer */
  request(message: object): Promise<Answer> {
    const { promise, resolve, reject } = Promise.withResolvers<Answer>();
    const onExit = (code: number): void => reject(new Error(`the thread ended with ${code} without a response`));
    this.#thread.once('error', reject).once('exit', onExit);
    this.#thread.once('message', (answer: unknown) => {
      this.#thread.off('error', reject).off('exit', onExit);
      try {
        resolve(this.#schema.parse(answer));
      } catch (thrown) {
        reject(thrown);
      }
    });
    this.#thread.postMessage(message);
    return promise;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#thread.terminate();
  }
}

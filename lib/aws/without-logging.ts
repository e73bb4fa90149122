/** What of a client's way from a command to its answer can be left out, by its name. */
interface HasMiddlewareStack {
  readonly middlewareStack: { readonly remove: (name: string) => boolean };
}

/**
 * The client without the SDK's own log, which copies each request and each answer for a logger that nobody gives it: about a tenth of
 * what a read of one item costs in computing.
 */
export const withoutLogging = <Client extends HasMiddlewareStack>(client: Client): Client => {
  client.middlewareStack.remove('loggerMiddleware');
  return client;
};

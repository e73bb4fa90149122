/** The secret of a sign-in link is in the fragment of the address, which browsers do not send. It is removed before anything else. */
export interface PendingLink {
  /** whether a link waits to be used */
  isPending(): boolean;
  /** The secret, once. */
  take(): string | undefined;
}

export function takeLink(): PendingLink {
  let secret = new URLSearchParams(location.hash.slice(1)).get('link') ?? undefined;
  if (secret !== undefined) history.replaceState(null, '', `${location.pathname}${location.search}`);
  return {
    isPending: () => secret !== undefined,
    take: () => {
      const taken = secret;
      secret = undefined;
      return taken;
    },
  };
}

/** The secret of a sign-in link is in the fragment of the address, which browsers do not send. It is removed before anything else. */
export function takeLink(): { readonly take: () => string | undefined } {
  let secret = new URLSearchParams(location.hash.slice(1)).get('link') ?? undefined;
  if (secret !== undefined) history.replaceState(null, '', `${location.pathname}${location.search}`);
  return {
    take: () => {
      const taken = secret;
      secret = undefined;
      return taken;
    },
  };
}

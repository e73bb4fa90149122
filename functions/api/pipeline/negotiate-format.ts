/** Which of two forms an `Accept` header asks for. */

const jsonTypes: readonly string[] = ['application/json', 'application/*', '*/*', ''];
const streamType = 'text/event-stream';

/** A stream where it is asked for by name and nothing else is wanted more; undefined where neither form would be taken. */
export const negotiateFormat = (accept: string | undefined): 'json' | 'stream' | undefined => {
  const parts = (accept ?? '').split(',').map(parsePart);
  const bestQuality = (types: readonly string[]): number =>
    Math.max(0, ...parts.filter(({ type }) => types.includes(type)).map(({ quality }) => quality));
  const [stream, json] = [bestQuality([streamType]), bestQuality(jsonTypes)];
  if (stream > 0 && stream >= json) return 'stream';
  return json > 0 ? 'json' : undefined;
};

const parsePart = (part: string): { readonly type: string; readonly quality: number } => {
  const [type = '', ...parameters] = part.split(';').map((each) => each.trim().toLowerCase());
  const qualityParameter = parameters.find((each) => each.startsWith('q='));
  const quality = qualityParameter === undefined ? 1 : Number(qualityParameter.slice(2));
  return { type, quality: Number.isFinite(quality) ? quality : 0 };
};

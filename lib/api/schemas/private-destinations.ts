/** The setting `privateDestinations`: hosts, addresses and networks of the owner that nodes and models may call. */
import * as z from 'zod';

export const maxPrivateDestinations = 50;
/** The list is an environment variable of the worker; all its variables together may have 4 KB. */
export const maxPrivateDestinationCharacters = 1_000;

/** Wider networks would be a mistake: private networks begin at these lengths. */
const minPrefix = { v4: 8, v6: 7 } as const;

const hostName = /^(?=.{1,253}$)(?!(?:.*\.)?[0-9]+$)[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*$/;
const neverReachable = /^(localhost$|127\.|0\.|169\.254\.|::1?(\/|$)|::ffff:|fe[89ab][0-9a-f]:|fd00:ec2:)/;

const isValid = (schema: z.ZodType, text: string): boolean => schema.safeParse(text).success;

function problemOf(text: string): string | undefined {
  if (neverReachable.test(text))
    return 'is never reachable: addresses of this machine, of the link and of metadata services cannot be allowed';
  if (isValid(z.ipv4(), text) || isValid(z.ipv6(), text)) return undefined;
  const isV4 = isValid(z.cidrv4(), text);
  if (isV4 || isValid(z.cidrv6(), text)) {
    const min = isV4 ? minPrefix.v4 : minPrefix.v6;
    return Number(text.split('/')[1]) < min ? `is too wide: a network has a prefix of at least /${min}` : undefined;
  }
  return hostName.test(text) ? undefined : 'must be a host name in lower case, an address, or a network such as 10.0.0.0/16';
}

const destination = z.string().superRefine((text, context) => {
  const problem = problemOf(text);
  if (problem !== undefined) context.addIssue(`${JSON.stringify(text.slice(0, 100))} ${problem}`);
});

export const privateDestinations = z
  .array(destination)
  .max(maxPrivateDestinations, `must contain at most ${maxPrivateDestinations} destinations`)
  .refine(
    (entries) => entries.join().length <= maxPrivateDestinationCharacters,
    `must contain at most ${maxPrivateDestinationCharacters} characters in total`,
  );

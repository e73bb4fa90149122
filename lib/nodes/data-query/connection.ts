/** Parses the connection of a database from a secret: JSON in the format of Secrets Manager for RDS. */
import * as z from 'zod';

const schema = z.object({
  host: z.string().min(1),
  port: z.coerce.number().int().min(1).max(65_535).default(5_432),
  dbname: z.string().min(1).exactOptional(),
  database: z.string().min(1).exactOptional(),
  username: z.string().min(1).exactOptional(),
  user: z.string().min(1).exactOptional(),
  password: z.string(),
  /** certificate authorities as PEM, instead of Node's default */
  ca: z.string().exactOptional(),
  tls: z.enum(['on', 'off']).default('on'),
});

export interface Connection {
  readonly host: string;
  readonly port: number;
  readonly database: string;
  readonly user: string;
  readonly password: string;
  /** false: no TLS */
  readonly ssl: false | { readonly rejectUnauthorized: true; readonly servername: string; readonly ca?: string };
}

/** @returns the connection, or an error that names the invalid fields but never their values */
export function readConnection(text: string): Connection | { readonly error: string } {
  const parsed = schema.safeParse(jsonIn(text));
  if (!parsed.success) {
    const fields = new Set(parsed.error.issues.map(({ path }) => path.join('.') || 'the whole secret'));
    return { error: `not valid connection JSON: check ${[...fields].join(', ')}` };
  }
  const { host, port, password, ca, tls, dbname, database = dbname, username, user = username } = parsed.data;
  if (database === undefined || user === undefined) return { error: 'not valid connection JSON: check dbname, username' };
  const ssl = { rejectUnauthorized: true, servername: host, ...(ca === undefined ? {} : { ca }) } as const;
  return { host, port, database, user, password, ssl: tls === 'off' ? false : ssl };
}

const jsonIn = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

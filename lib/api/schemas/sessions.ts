/** Schemas of links that sign in, and of sessions. */
import * as z from 'zod';
import { keyScopes } from '../../ports/control.ts';
import { utcTimestamp } from './parts.ts';

export const exchangeLinkBody = z
  .strictObject({ link: z.string().min(1).max(128).meta({ description: 'the text of a link, `sl_…`' }) })
  .meta({ id: 'ExchangeLink' });

export const createSessionBody = z
  .strictObject({ key: z.string().min(1).max(512).meta({ description: 'an API key; it is neither stored nor logged' }) })
  .meta({ id: 'CreateSession' });

export const linkResponse = z
  .strictObject({
    link: z.string().meta({ description: 'signs one browser in, once; only this response contains it' }),
    expiresAt: utcTimestamp,
  })
  .meta({ id: 'SessionLink' });

export const sessionResponse = z
  .strictObject({
    id: z.string().meta({ description: 'names the session in the audit trail; it is no secret' }),
    subject: z.string().meta({ description: 'who signed in: `key:` and the id of the key' }),
    keyId: z.string(),
    projectId: z.string(),
    environment: z.string(),
    scopes: z.array(z.enum(keyScopes)).readonly(),
    expiresAt: utcTimestamp,
    idleExpiresAt: utcTimestamp.meta({ description: 'when it ends if it is not used again' }),
  })
  .meta({ id: 'Session' });

export const endedSessionResponse = z.strictObject({
  signedOut: z.boolean().meta({ description: 'false: the browser had no session' }),
});

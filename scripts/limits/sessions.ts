/** Limits of the sessions of people who signed in to the console. */
import { maxEmbeds } from '../../lib/service/access/embeds.ts';
import { embedRateLimit, keySessionsRateLimit, sessionRateLimit } from '../../lib/service/access/rate-limiter.ts';
import {
  sessionIdleTime,
  sessionLifetime,
  sessionLinkLifetime,
  raisedTime,
  sessionUseResolution,
} from '../../lib/service/access/sessions.ts';
import { maxSignInGrants } from '../../lib/api/schemas/console-setting.ts';
import { freshSignInAge } from '../../lib/service/access/provider-sign-in.ts';
import { type LimitSection, count, hours, minutes, phrase, seconds } from './limit.ts';

export const sessions: LimitSection = {
  title: 'Sessions of people',
  per: 'session',
  limits: [
    {
      name: 'A link that signs in',
      value: phrase`${seconds(sessionLinkLifetime)}, once`,
      per: 'link',
      atLimit: '`link_invalid` (401)',
      definedIn: ['lib/service/access/sessions.ts'],
    },
    {
      name: 'A session',
      value: phrase`${hours(sessionLifetime)}, and ${hours(sessionIdleTime)} after its last use`,
      atLimit: '`session_invalid` (401): sign in again. It ends with its key too',
      definedIn: ['lib/service/access/sessions.ts'],
    },
    {
      name: '`admin` of a session',
      value: phrase`${minutes(raisedTime)} after the person showed a key, a new link or a new sign-in`,
      atLimit: '`missing_scope` (403): show it again',
      definedIn: ['lib/service/access/sessions.ts'],
    },
    {
      name: 'A new sign-in with an identity provider',
      value: phrase`${minutes(freshSignInAge)} old at most, to get \`admin\``,
      atLimit: '`sign_in_refused` (401)',
      definedIn: ['lib/service/access/provider-sign-in.ts'],
    },
    {
      name: 'Grants of an identity provider',
      value: count(maxSignInGrants),
      per: 'installation',
      atLimit: 'the synthesis stops',
      definedIn: ['lib/api/schemas/console-setting.ts'],
    },
    {
      name: 'Embeds',
      value: count(maxEmbeds),
      per: 'project and environment',
      atLimit: '`too_many_embeds` (409)',
      definedIn: ['lib/service/access/embeds.ts'],
    },
    {
      name: 'Views of an embed',
      value: phrase`${count(embedRateLimit)} a minute; a function shows one view for some seconds`,
      per: 'embed',
      atLimit: 'the page says so (429), and shows the status again in a minute',
      definedIn: ['lib/service/access/rate-limiter.ts'],
    },
    {
      name: 'Last use of a session',
      value: minutes(sessionUseResolution),
      atLimit: 'Stepwell writes it at most this often, so an idle session can end this much earlier',
      definedIn: ['lib/service/access/sessions.ts'],
    },
    {
      name: 'Requests of sessions',
      value: phrase`${count(sessionRateLimit)} a minute; ${count(keySessionsRateLimit)} for all sessions of a key`,
      atLimit: '`rate_limited` (429); apart from the limit of the key',
      definedIn: ['lib/service/access/rate-limiter.ts'],
    },
  ],
};

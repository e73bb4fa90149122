import { createHash, timingSafeEqual } from 'node:crypto';

const digest = (text: string): Buffer => createHash('sha256').update(text).digest();

/** Takes as long wherever two tokens differ, and whatever their lengths. */
export const isBearer = (header: string | null, token: string): boolean => {
  const presented = /^Bearer +(\S+)$/i.exec(header ?? '')?.[1];
  return presented !== undefined && timingSafeEqual(digest(presented), digest(token));
};

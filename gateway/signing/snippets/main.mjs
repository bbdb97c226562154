import { signUrl } from './sign.mjs';

// For a day, to a full hour: the url stays the same for an hour, so that caches can keep what it answers.
const expires = (Math.floor(Date.now() / 3_600_000) + 25) * 3600;
console.log(signUrl('{{address}}', '{{key_id}}', process.env.SIGNING_SECRET, expires));

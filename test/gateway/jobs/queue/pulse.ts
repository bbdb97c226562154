/** The longest rest between two beats: a test that went by shorter ones shows nothing where the machine has stalled for longer. */
export function createPulse() {
  const began = performance.now();
  let last = began;
  let longest = 0;
  return {
    beat() {
      const now = performance.now();
      longest = Math.max(longest, now - last);
      last = now;
    },
    /** That which goes on counts too. */
    longest: () => Math.max(longest, performance.now() - last),
    /** Since it began. */
    ms: () => performance.now() - began,
  };
}

/**
 * The English stop word list of the Snowball project, https://snowballstem.org/algorithms/english/stop.txt, without
 * its comments. Copyright (c) 2001, Dr Martin Porter, and (c) 2002, Richard Boulton; licensed under the 3-clause BSD
 * licence, https://snowballstem.org/license.html.
 */
export const snowballEnglish: readonly string[] = `
i me my myself we our ours ourselves you your yours yourself yourselves
he him his himself she her hers herself it its itself they them their theirs themselves
what which who whom this that these those
am is are was were be been being have has had having do does did doing would should could ought
i'm you're he's she's it's we're they're i've you've we've they've
i'd you'd he'd she'd we'd they'd i'll you'll he'll she'll we'll they'll
isn't aren't wasn't weren't hasn't haven't hadn't doesn't don't didn't
won't wouldn't shan't shouldn't can't cannot couldn't mustn't
let's that's who's what's here's there's when's where's why's how's
a an the and but if or because as until while
of at by for with about against between into through during before after above below
to from up down in out on off over under again further then once
here there when where why how all any both each few more most other some such
no nor not only own same so than too very
`
  .trim()
  .split(/\s+/);

/**
 * What that list names in its comments and leaves out: *us*, *will*, *shall* and *just*, the first three for a noun
 * or a name that is spelled the same. The list of the `stopword` package, which it completes here, takes in their like
 * (*can*, *might*, *must*, *well*). The negations are the ones the list calls rare or doubtful.
 */
export const snowballOmitted: readonly string[] = `
us will shall just daren't needn't oughtn't mightn't
`
  .trim()
  .split(/\s+/);

/** Contractions that follow the list's pattern and are not on it. */
export const moreContractions: readonly string[] = `
it'd it'll that'd that'll there'd there'll this'll these're those're
who'd who'll who're who've what'd what'll what're what've where'd where're how'd how'll how're when'd why'd
could've should've would've might've must've ain't
`
  .trim()
  .split(/\s+/);

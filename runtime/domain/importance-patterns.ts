/**
 * What English sentences of each kind look like, in lower case and without quotations and interjections. Precision comes
 * before recall: what is missed has the importance of a fact. What a sentence begins with and what it holds are apart,
 * because the former is searched in one place only.
 */

export interface Signs {
  readonly begins: RegExp;
  readonly holds: RegExp;
}

function begins(...patterns: readonly string[]): RegExp {
  return new RegExp(`^(?:${patterns.join("|")})`);
}

function holds(...patterns: readonly string[]): RegExp {
  return new RegExp(`\\b(?:${patterns.join("|")})`);
}

const NOT_THANKS =
  "(?!thanks?|thank you|problem|worries|need|idea|not (?:yet|really)|(?:it|that)(?:'s| is| sounds) (?:just |all |totally |really )?(?:fine|ok|okay|good|great|fun|cool|true|right))";
/** "No, it was Peter" corrects; "No, I haven't been there" answers a question. */
const INSTEAD =
  "(?:it|that|this|these|those|the|he|she|they|there|my|our|his|her|their|your|you|only|just|still|on|at|not|as|we(?:'re| are| were| moved| have| only)|i (?:only|said|meant|asked|told|live|have|was|am|work|want|wanted)|(?!every|all\\b|nothing|i\\b)[a-z]+ (?:is|was) (?:the|a|an|my|our|in|on|at))\\b";

/** Of the first sentence alone: later in a message these words tell a story. */
export const CORRECTION_FIRST = begins(
  `(?:no(?: no)*|nope)[,;:.-]+ ?${NOT_THANKS}${INSTEAD}`,
  "actually,? (?!i (?:just|also|really|love|like|did|do|think|feel|started|went|am|'m)\\b|yes|yeah|no\\b)",
);

export const CORRECTION: Signs = {
  begins: begins(
    "(?:correction|scratch that|strike that|my (?:mistake|bad)|wrong|incorrect|not quite|i stand corrected)\\b(?! of\\b)",
    // "Not 15 people, 50."
    "not (?!only|just|because|to mention)[^,]{1,40}, (?:but )?\\S+(?: \\S+){0,4}$",
    "(?:that|this|it|which)(?:'s| is| was| were)?(?: not|n't)(?: quite| really| actually| at all)? (?:right|correct|true|accurate|what i (?:asked|meant|said|wanted|wrote)|how i)\\b",
    "the \\w+(?: \\w+){0,4} (?:is|are|was|were) (?:wrong|incorrect|false|inaccurate|outdated)\\b",
    "(?:that|this|it|you|you're|that's|it's|your [\\w ]{1,30}|what i (?:said|wrote|told)[\\w ]{0,30}|the \\w+ i (?:gave|sent|told|wrote|mentioned)[\\w ]{0,30}) ?(?:is |was |are |were |'s |'re )?(?:just |simply |still |all )?(?:wrong|incorrect|false|inaccurate|outdated|mistaken|a mistake|an error|the wrong)\\b",
    "that (?:was|is) (?:last (?:year|month|week)|the old|an old|the previous)",
    // "It's Novak, not Nowak."
    "(?:it|that|this|he|she|they|we)(?:'s|'re| is| are| was| were)\\b.{1,60}, not (?!just|only|because|to mention|bad|that|so|like|sure|yet|really|even|much)[^,]{1,40}$",
    "it(?: is|'s)? ?(?:not|n't) .{1,40} any ?more\\b",
    "instead of .{1,40} (?:it|that|this) should\\b",
    "it(?:'s| is) (?:spelled|spelt|pronounced)\\b",
  ),
  holds: holds(
    "i (?:meant (?!to\\b|it\\b|well\\b|so\\b)|mis(?:spoke|typed|read|counted)|was (?:wrong|mistaken)|made an? (?:mistake|error|typo))",
    "you (?:misunderstood|misread|misheard|mixed up|confused)\\b",
    "you (?:got|have|had|put|wrote) [\\w' ]{1,40}\\bwrong\\b",
    "i (?:said|told you|asked for|wrote|wanted)\\b.{1,60}?(?:,? (?:and )?not |, you (?:wrote|said|put|sent|gave|used))",
    "should (?:have (?:been|said|read)\\b|(?:be|read|say) .{1,40} (?:instead|rather|and not)\\b)",
    "(?:disregard|ignore|forget) (?:what i|my (?:last|previous|earlier)|the (?:last|previous|earlier))",
    "let me (?:correct|rephrase)\\b",
    "correct myself\\b",
    // "You picked the wrong one."
    "(?:you|i) (?:\\w+ ){1,4}?the wrong \\w+",
    "(?:it|that|he|she|they) (?:was|were|is|are) never .{1,40}, (?:it|that|he|she|they)(?:'s|'re| was| were| is| are)\\b",
    "(?:that|it|this)(?:'s| is) not (?:my|our|his|her) .{1,30}, (?:mine|ours|his|hers|it)\\b",
    "you (?:put|wrote|noted|have|had) it (?:down )?as\\b",
    "the (?:right|correct) (?:one|number|name|address|date|version|file) is\\b",
  ),
};

const SOMEBODY =
  "(?:i|we|he|she|they|(?:the |our |my )?(?:user|team|customer|client|owner|wife|husband|partner|boss|mother|father|son|daughter|family|kids|colleagues)s?)";
const ADVERB = "(?:really|always|generally|usually|strongly|much|still|also|all|both|absolutely|definitely|simply)";
const LIKING =
  "prefers?|loves?|likes?|hates?|enjoys?|dislikes?|adores?|detests?|favou?rs?|can't (?:stand|bear)|cannot stand|avoids?";
/** "I love it!" praises what is at hand. */
const NOT_THIS =
  "(?! (?:it|that|this|these|those|your|you|the (?:way|idea|thought|look|sound)|how|what|hearing|to hear|seeing)\\b)";

export const PREFERENCE: Signs = {
  begins: begins(
    "(?:from now on|going forward|henceforth|in (?:the )?future),? (?!we(?:'ll| will)|i(?:'ll| will))",
    // Instructions that hold for good.
    "(?:please )?(?:always|never|do not ever|don't ever) (?!mind|again|heard|been|had|seen|was|is|here|give up|forget|happy|glad|good|a |the )\\w",
    "(?:please )?(?:don't|do not) (?:use|call|send|write|add|include|put|start|quote|address|repeat|summari[sz]e|apologi[sz]e|interrupt|reply|answer)\\b(?!.*\\b(?:today|tomorrow|tonight|now|yet|until|till|this)\\b)",
    "(?:please )?stop \\w+ing\\b",
    "no [a-z]+s (?:in|at|on|with|for|after|before|between|without|please|ever)\\b",
    "(?:please )?keep (?:your|the|all|it|them|every) ?(?:answers?|replies|reply|messages?|reports?|explanations?|summar(?:y|ies)|tone|responses?|sentences|short|brief|simple)\\b",
    "(?:please )?(?:call|address) me (?!back|at|on|when|tomorrow|later|if|after|before|tonight|today|in|once|right|asap|crazy)(?:as )?\\w",
    "when(?:ever)? you .{3,60}, (?:please )?(?:be|use|do|don't|always|never|write|keep|put|add|ask|leave|avoid|say)\\b",
    "\\w+(?: \\w+)? over \\w+(?: \\w+)?(?:,|\\.|$)",
  ),
  holds: holds(
    // The verb first, then its subject: verbs like these are rare, and people are in every sentence.
    `(?:prefers?|(?:loves?|likes?|hates?|enjoys?)${NOT_THIS}|dislikes?|adores?|detests?|favou?rs?|can't (?:stand|bear)|cannot stand|avoids?)\\b(?<=(?<!what |things |people |anything )\\b${SOMEBODY}(?: ${ADVERB})? (?:${LIKING}))`,
    `(?:don't|do not|doesn't|does not)(?: really| particularly| ever)? (?:like|enjoy|care for|want (?:any|you|to (?:be|get|see|hear)))\\b(?<=\\b${SOMEBODY} (?:really )?(?:don't|do not|doesn't|does not)[ a-z]{0,40})`,
    `(?:would )?(?:much )?(?:rather|prefer|sooner)\\b(?<=\\b${SOMEBODY}(?:'d| would) (?:much )?(?:rather|prefer|sooner))`,
    "(?:my|our|his|her|their) (?:favou?rite|preferred|preference)\\b",
    "i(?:'m| am) (?:not )?(?:really |more of |such )?(?:an? )?(?:\\w+ ){0,2}(?:fan of|person\\b|lover of)",
    "i(?:'m| am) (?:not |really |very )?(?:into|fond of|keen on)\\b",
    "(?:want|need|expect|ask|like) you to (?:always|never|be|keep|use|avoid|stop)\\b",
    "(?:i|we) like it when\\b",
    "(?:is|are|works?) (?:best|better) for (?:me|us)\\b",
    "i (?:always|never|usually) (?:take|drink|eat|have|use|wear|buy|read|sleep|travel) \\w",
    "for .{3,40},? (?:i|we) (?:want|need|like|expect) (?!to\\b)",
    "(?:i|we) find .{2,40}\\b(?:hard|harder|easier|annoying|ugly|better|nicer|distracting|confusing|boring|unpleasant)\\b",
    "it(?:'s| is) (?:very |really |so )?important to (?:me|us|him|her)\\b",
    "we (?:usually|typically|generally|normally|always|never) (?:go for|choose|pick|take|use|avoid|order|have|drink|eat)\\b",
  ),
};

/** Verbs that hardly begin anything but an instruction. */
const DOING =
  "add|adjust|archive|arrange|ask|assign|attach|back up|bring|buy|cancel|check|clean|clear|collect|compare|configure|convert|copy|create|debug|delete|deploy|describe|disable|download|draft|email|enable|ensure|examine|explain|export|extend|fetch|figure out|file|fill|find|finish|fix|generate|get|give|go through|implement|import|improve|include|increase|inform|install|investigate|invite|list|look (?:up|at|for|into)|make|merge|migrate|notify|open|organi[sz]e|pay|pick up|ping|pull|ring|post|prepare|print|publish|push|read|refactor|remember|remind|remove|rename|renew|repair|replace|reply|research|restart|restore|revert|rewrite|rotate|save|search|send|set up|sign|sort|split|submit|summari[sz]e|switch|tell|throw|translate|try|turn (?:on|off)|unsubscribe|update|upgrade|upload|use|verify|wash|water|write";
/** Verbs that are nouns as well: what follows them decides. */
const EITHER =
  "book|build|call|change|cut|date|document|filter|help|measure|move|order|place|plan|question|record|release|report|request|review|run|schedule|set|show|start|stop|talk|test|track|visit|walk|work";
const OBJECT =
  "(?:the|a|an|my|our|his|her|their|this|that|these|those|all|every|each|both|it|them|me|us|him|some|any|another|up|out|on|in|to (?!you\\b)|with|version|v?\\d\\S*|pr|issue)";

/** What makes a question a request. */
export const REQUEST: Signs = {
  begins: begins(
    "(?:can|could|shall|may) (?:we|i) (?:please |also |just )?(?:have|get|move|change|see|book|meet|talk|schedule|add|use)\\b",
    "(?:how|what) about \\w+ing\\b",
    "(?:why don't|shouldn't) (?:we|you)\\b",
  ),
  holds: holds(
    "(?:can|could|will|would) (?:you|someone|somebody|anyone|anybody|one of you)\\b(?! (?:like|be|have|prefer|say|rather|ever|really|see|hear|believe|imagine)\\b)",
    "would you (?:please|mind|be so kind)\\b",
    "please\\b",
  ),
};

export const TASK: Signs = {
  begins: begins(
    "(?:to-?dos?|action items?|next steps?|open points?|deadline|reminder)\\b",
    "(?:someone|somebody|you) (?:should|must|ought to|has to|needs to)\\b",
    "(?:please|kindly) (?!find\\b|note\\b|accept\\b)\\w",
    "let(?:'s| us) (?!be honest|face it|say\\b|do this|go\\b|keep\\b|see\\b)",
    "(?:please )?(?:don't|do not) forget\\b",
    "(?:make|be) sure to?\\b",
    "take care to\\b",
    // An exclamation is encouragement: "Keep it up!"
    `(?:${DOING})\\b(?!:|'s\\b|-| (?:is|are|was|were|has|had|did|does|of|it (?:a try|a shot|up))\\b)(?!.*!$)`,
    `(?:${EITHER}) ${OBJECT}\\b(?!.*!$)`,
  ),
  holds: holds(
    "(?:is|are|was) due (?:on|by|in|at|tomorrow|today|next|this)\\b",
    "(?:(?:has|have|needs?|ought) to|must) be \\w+(?:ed|t|n|de|id)\\b",
    "(?:i|we|you|they|he|she|someone|somebody) (?:still |really |also |urgently |just |first )?(?:needs?|has|have|ought|plans?|intend|wants?|hope|am supposed|are supposed|is supposed)(?: you)? to\\b(?! (?:say|admit|agree|be honest|know|hear)\\b)",
    "(?:i|we)(?:'ll| will|'d better| must not forget| must| should| shall|'m going to|'re going to| am going to| are going to)\\b(?! (?:have been|never|not|always|definitely|be \\d|let you know|keep|see you|be there|miss|admit|say)\\b)",
    "please[.!]?$",
    "(?:it would be|i'd be) (?:great|nice|good|helpful|grateful|glad) if (?:you|someone|we)\\b",
    "(?:i'd|i would|we'd) like (?:you )?to\\b",
    "(?:can|could|will|would) you (?:please )?\\w+",
  ),
};
